import { ConfinedProgram, type ConfinedEnd } from '../../toolkit/sandbox/confined-program.ts'
import type { NetworkProxy } from '../../toolkit/network/proxy.ts'
import { WayOut } from '../../toolkit/network/way-out.ts'
import { begin_ms } from '../shared/limits.ts'
import {
  frameBytesMax, readFromProcess, type FromProcess, type ProcessData, type ToProcess
} from '../shared/process-protocol.ts'
import { speech } from '../shared/protocol.ts'
import type { Place } from './place.ts'

/** What a process says of the work that it has. */
export type Said = Exclude<FromProcess, { type: 'ready' | 'pong' | 'stray' | 'clean' }>

/** The work that a process has. */
export interface Worker {
  /** @returns what is wrong with the message; undefined when it may have been sent */
  hear (message: Said): string | undefined
  /** It may not reach what it wanted to. */
  refused (message: string): void
  died (end: ConfinedEnd): void
}

export interface ScriptProcessOptions {
  program: string
  place: Place
  data: Omit<ProcessData, 'listed'>
  proxy: NetworkProxy
  /** It takes its first run now. */
  onReady (): void
  /** What it had open after its last run is closed. */
  onClean (): void
  /** An error in it that belongs to no run. */
  onStray (text: string): void
  /** It sent what no process sends, and is ended. */
  onNonsense (reason: string): void
  /** It has ended, and its work has heard of it. */
  onGone (end: ConfinedEnd): void
}

/**
 * A confined process that runs the scripts of one skill. Tools run in it, so nothing that comes from it is believed
 * before it was read and fits the work that it has; the first message that does not fit ends the process.
 */
export class ScriptProcess {
  readonly place: Place
  readonly #program: ConfinedProgram
  readonly #options: ScriptProcessOptions
  /** The rules that it has; those of its place may be newer. */
  rules: Place['rules']
  #ready = false
  #gone = false
  #work: Worker | undefined
  #pong: ((answers: boolean) => void) | undefined
  /** Whether it may say that it is clean. */
  #settling = false
  #strays = 0
  /** Whether it has had a run that was given a secret. */
  sensitive = false
  /** Whether a tool of its module has begun. */
  loaded = false
  /** performance.now() when it was last given back. */
  idle_since_ms = 0
  readonly #wayOut: WayOut | undefined
  /** Whether it is being looked at what its last work has left behind. */
  cleaning = false
  readonly #starting: NodeJS.Timeout
  readonly #whenEnded: Promise<void>

  /** @throws SkilletError OVERLOADED when the system has no room for it */
  constructor (options: ScriptProcessOptions) {
    const { place, data, program, proxy } = this.#options = options
    const wayOut = this.#wayOut = place.list === undefined
      ? undefined
      : new WayOut(proxy, place.name, place.list, message => { this.#work?.refused(message) })
    this.place = place
    this.rules = place.rules
    this.#program = new ConfinedProgram(program, {
      ...place.confinedOptions({ ...data, listed: wayOut !== undefined }, wayOut?.variables),
      ...(wayOut !== undefined && { takeSocket: wayOut.takeSocket }),
      frameBytesMax: frameBytesMax(data.output_bytes_max),
      take: value => { this.#take(value) }
    })
    this.#starting = setTimeout(() => { this.end() }, begin_ms)
    this.#program.hold(true)
    this.#whenEnded = this.#follow()
  }

  get pid (): number | undefined {
    return this.#program.pid
  }

  /** Whether it has not yet taken its first run. */
  get starting (): boolean {
    return !this.#ready && !this.ending
  }

  /** Whether it is of no more use. */
  ending = false

  /** Gives it work. One at a time. */
  execute (message: ToProcess, work: Worker): void {
    this.#work = work
    if (message.type === 'run') this.sensitive ||= message.sensitive
    this.#settling = false
    this.#strays = 0
    this.#program.hold(true)
    this.#program.send(message)
  }

  /** Takes its work back: nothing more is heard of that. */
  release (settling: boolean): void {
    this.#work = undefined
    this.#settling = settling
    this.#rest()
  }

  /** A run of its work begins. */
  begin (): void {
    this.#wayOut?.begin()
    if (this.place.limits.cpu_ms_max > 0) this.#program.begin()
  }

  /**
   * Ends it where its last work has left processes behind. Only while it has no work.
   * @param then called when there are none
   */
  clean (then: () => void): void {
    this.cleaning = true
    this.#program.hold(true) // runs may wait for it
    this.#program.clean(() => {
      this.cleaning = false
      this.#rest()
      if (!this.ending) then()
    })
  }

  /** Asks a tool to end. */
  ask (run: number): void {
    this.#program.send({ type: 'ask', run } satisfies ToProcess)
  }

  /** Resolves with whether it answers. Only while it has no work. */
  async ping (limit_ms: number): Promise<boolean> {
    return await new Promise(resolve => {
      const timer = setTimeout(() => { resolve(false) }, limit_ms)
      this.#pong = answers => {
        clearTimeout(timer)
        this.#pong = undefined
        resolve(answers)
      }
      this.#program.send({ type: 'ping' } satisfies ToProcess)
    })
  }

  /** Ends it at once, whatever it does. Resolves when it has ended. */
  end (): Promise<void> {
    this.ending = true
    if (!this.#gone) this.#program.hold(true)
    this.#program.kill()
    return this.#whenEnded
  }

  /** While it has nothing to do it keeps nobody waiting, unless its end is waited for. */
  #rest (): void {
    if (!this.ending) this.#program.hold(false)
  }

  /** Ends it for what it said: nothing more of it is believed. */
  #refuse (reason: string): void {
    if (this.#program.refused) return
    this.ending = true
    this.#program.refuse(reason)
    this.#options.onNonsense(reason)
  }

  #take (value: unknown): void {
    if (this.#program.refused) return
    const message = readFromProcess(value, this.#options.data.output_bytes_max)
    if (message === undefined) return this.#refuse('a message that makes no sense')
    switch (message.type) {
      case 'ready':
        if (this.#ready) return this.#refuse('word that it is ready, twice')
        this.#ready = true
        clearTimeout(this.#starting)
        this.#rest()
        return this.#options.onReady()
      case 'pong':
        return this.#pong === undefined ? this.#refuse('an answer to what was not asked') : this.#pong(true)
      case 'stray':
        // Twice: what it said at the end of one run may come in the next.
        if (++this.#strays > 2 * speech.strays) return this.#refuse('more errors than a process may')
        return this.#options.onStray(this.sensitive ? withheld : message.text)
      case 'clean':
        if (!this.#settling) return this.#refuse('word of a run that it does not have')
        this.#settling = false
        return this.#options.onClean()
      default: {
        const wrong = this.#work === undefined ? 'word of a run that it does not have' : this.#work.hear(message)
        if (wrong !== undefined) this.#refuse(wrong)
      }
    }
  }

  async #follow (): Promise<void> {
    this.#end(await this.#program.ended)
  }

  #end (end: ConfinedEnd): void {
    if (this.#gone) return
    this.#gone = this.ending = true
    clearTimeout(this.#starting)
    this.#wayOut?.end()
    this.#pong?.(false)
    // A frame that can't be read was refused by the program itself.
    this.#work?.died(end)
    this.#work = undefined
    this.#options.onGone(end)
  }
}

/** The text in place of an error that may hold a secret. */
const withheld = 'its text is withheld: the process has run a tool that was given a secret'
