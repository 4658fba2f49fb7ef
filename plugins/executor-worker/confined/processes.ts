import type { Logger } from '../../../kernel/index.ts'
import type { ConfinedEnd } from '../../toolkit/sandbox/confined-program.ts'
import type { NetworkProxy } from '../../toolkit/network/proxy.ts'
import { settle_ms, type Limits } from '../shared/limits.ts'
import { covers, type Place } from './place.ts'
import { ScriptProcess } from './script-process.ts'

export interface ProcessesOptions {
  /** The program in C that enters the sandbox. */
  program: string
  proxy: NetworkProxy
  limits: Limits
  /** The most processes there may be, whatever they do. */
  processesMax: number
  log: Logger
  /** A process can take a run, or one has ended: another may begin. */
  room (): void
  /** A process ended before it took its first run. */
  notStarted (place: Place, end: ConfinedEnd): void
}

/** The longest time between two looks for processes that are idle, in milliseconds. */
const sweep_ms = 1_000

/** The confined processes: which of them exist, which are idle, and for whom. */
export class Processes {
  readonly #options: ProcessesOptions
  /** All that have not ended. */
  readonly #all = new Set<ScriptProcess>()
  /** In the order in which they were given back. The last is used first. */
  readonly #idle: ScriptProcess[] = []
  /** Those that have a moment to close what their tool left open. */
  readonly #settling = new Map<ScriptProcess, NodeJS.Timeout>()
  readonly #eachMax: number
  #closed = false
  #sweep: NodeJS.Timeout | undefined

  constructor (options: ProcessesOptions) {
    this.#options = options
    this.#eachMax = Math.max(1, Math.floor(options.processesMax / 2))
  }

  get size (): number {
    return this.#all.size
  }

  /** Whether a place has a process. */
  has (place: Place): boolean {
    return [...this.#all].some(process => process.place === place)
  }

  /** An idle process of a place. One that may read less than it should by now is ended. */
  take (place: Place): ScriptProcess | undefined {
    for (let at = this.#idle.length - 1; at >= 0; at--) {
      const process = this.#idle[at]
      if (process?.place !== place) continue
      this.#idle.splice(at, 1)
      if (process.ending) continue
      if (process.rules === place.rules || covers(process.rules, place.rules)) {
        process.rules = place.rules
        return process
      }
      void process.end()
    }
    return undefined
  }

  /** Any idle process. */
  takeAny (): ScriptProcess | undefined {
    return this.#idle.pop()
  }

  /**
   * Starts a process of a place, if there may be another. One that is idle makes room.
   * @param wanted the most that start at once
   * @throws SkilletError OVERLOADED when the system has no room for it
   */
  grow (place: Place, wanted: number): void {
    const own = [...this.#all].filter(process => process.place === place && !process.ending)
    const coming = own.filter(process => process.starting || process.cleaning)
    if (this.#closed || own.length >= this.#eachMax || coming.length >= wanted) return
    if (this.#all.size >= this.#options.processesMax) return void this.#idle.shift()?.end() // its end makes room
    this.#start(place)
  }

  /** Takes back a process that has had work. Nobody has it until nothing is left of that. */
  giveBack (process: ScriptProcess): void {
    if (process.ending) return
    if (this.#closed) return void process.end()
    process.clean(() => {
      this.keep(process)
      this.#options.room()
    })
  }

  /** Keeps a process for the next who wants it. */
  keep (process: ScriptProcess): void {
    if (this.#closed) return void process.end()
    process.idle_since_ms = performance.now()
    this.#idle.push(process)
  }

  /** Takes back a process whose tool left something open; nobody has it until that is closed. */
  letSettle (process: ScriptProcess): void {
    this.#settling.set(process, setTimeout(() => {
      this.#settling.delete(process)
      void process.end()
    }, settle_ms))
  }

  /** Ends each process that is given back from now on. */
  refuse (): void {
    this.#closed = true
    clearInterval(this.#sweep)
  }

  async end (): Promise<void> {
    await Promise.all([...this.#all].map(process => process.end()))
  }

  #start (place: Place): void {
    const { program, proxy, limits: { outputBytesMax, heapBytesMax, idle_ms }, log, room, notStarted } = this.#options
    let ready = false
    const started = new ScriptProcess({
      program,
      proxy,
      place,
      data: { output_bytes_max: outputBytesMax, memory_bytes_kept_max: heapBytesMax / 2 },
      onReady: () => {
        ready = true
        place.failures = 0
        this.keep(started)
        room()
      },
      onClean: () => {
        clearTimeout(this.#settling.get(started))
        if (this.#settling.delete(started)) this.giveBack(started)
      },
      onStray: text => { log.warn({ error: text }, 'a script tool raised an error after its end') },
      onNonsense: reason => {
        log.warn({ what: reason, skill: place.name }, 'a script process was ended for what it sent the server')
      },
      onGone: end => {
        this.#forget(started)
        if (!ready) notStarted(place, end)
        room()
      }
    })
    this.#all.add(started)
    this.#sweep ??= setInterval(() => { this.#look() }, Math.min(sweep_ms, idle_ms / 2)).unref()
  }

  #forget (process: ScriptProcess): void {
    this.#all.delete(process)
    clearTimeout(this.#settling.get(process))
    this.#settling.delete(process)
    const at = this.#idle.indexOf(process)
    if (at >= 0) this.#idle.splice(at, 1)
  }

  #look (): void {
    const before_ms = performance.now() - this.#options.limits.idle_ms
    while (this.#idle[0] !== undefined && this.#idle[0].idle_since_ms < before_ms) void this.#idle.shift()?.end()
    if (this.#all.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }
}
