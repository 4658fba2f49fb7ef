import {
  messageOf, SkilletError, type CancelSignal, type Confinement, type Logger, type Outcome, type Task, type TaskObserver
} from '../../../kernel/index.ts'
import type { NetworkProxy } from '../../toolkit/network/proxy.ts'
import { ConfinementError } from '../../toolkit/sandbox/confinement-policy.ts'
import type { ConfinedEnd } from '../../toolkit/sandbox/confined-program.ts'
import { failed, nothing, Run } from '../main/run.ts'
import { slotsMax } from '../shared/board.ts'
import { attemptsMax, begin_ms, stopping, type Limits } from '../shared/limits.ts'
import { how } from './call.ts'
import { MemoryWatch } from '../../toolkit/sandbox/memory-watch.ts'
import { fitting, isShort, type Place, type PlaceOptions } from './place.ts'
import { Places } from './places.ts'
import { Processes } from './processes.ts'
import type { ScriptProcess } from './script-process.ts'
import { Work } from './work.ts'

export interface HomeOptions extends Omit<PlaceOptions, 'heapBytesMax'> {
  /** The program in C that enters the sandbox. */
  program: string
  proxy: NetworkProxy
  limits: Limits
  processesMax: number
  log: Logger
}

/**
 * Runs script tools in confined processes, each of which has the scripts of one skill. As in the pool of threads, at
 * most `threads` of them compute, a run that waits for something outside gives its place to another, and runs of short
 * tools go together.
 */
export class ConfinedHome {
  readonly #options: HomeOptions
  readonly #processes: Processes
  readonly #memory: MemoryWatch
  readonly #places: Places
  readonly #working = new Set<Work>()
  #waiting = 0
  #computing = 0
  #pumping = false
  #closed = false

  constructor (options: HomeOptions) {
    this.#options = options
    const { program, proxy, limits, processesMax, book, cwd, isolation, log } = options
    this.#memory = new MemoryWatch(limits.heapBytesMax)
    this.#places = new Places(
      { book, cwd, isolation, heapBytesMax: limits.heapBytesMax }, place => this.#processes.has(place)
    )
    this.#processes = new Processes({
      program, proxy, limits, processesMax, log,
      room: () => { this.#pumpSoon() },
      notStarted: (place, end) => { this.#notStarted(place, end) }
    })
  }

  /** All processes, whatever they do. */
  get size (): number {
    return this.#processes.size
  }

  /**
   * Runs a task at a level of isolation to its outcome.
   * @throws SkilletError OVERLOADED when the queue is full, the system has no room for a process, or it is closed
   */
  run (task: Task, level: Confinement, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    const { limits: { queueMax }, log } = this.#options
    if (this.#closed) return Promise.reject(new SkilletError('OVERLOADED', stopping))
    if (signal.aborted) return Promise.resolve({ ...nothing, status: 'cancelled' })
    const { module } = task.skill
    if (module === undefined) return Promise.resolve(failed(`the skill ${task.skill.name} has no module to run`))
    if (this.#waiting >= queueMax) {
      const why = `${this.#waiting} script tools are waiting, as many as execution.queue_max allows; try again later`
      return Promise.reject(new SkilletError('OVERLOADED', why))
    }
    let place: Place
    try {
      place = this.#places.of(task, module, level)
    } catch (error) {
      if (!(error instanceof ConfinementError)) throw error
      return Promise.resolve(failed(error.message))
    }
    const cancel = (): void => { this.#cancel(run, place) }
    const run = new Run(task, module, observer, log, () => { signal.removeEventListener('abort', cancel) })
    signal.addEventListener('abort', cancel, { once: true })
    place.queue.push(run)
    this.#waiting++
    this.#pumpSoon()
    return run.outcome
  }

  /** @throws Error when an idle process does not answer */
  async probe (): Promise<void> {
    if (this.#computing >= this.#options.limits.threads) return // each has its time limit
    const process = this.#processes.takeAny()
    if (process === undefined) return
    if (!await process.ping(begin_ms)) {
      void process.end()
      throw new Error('a script process does not answer')
    }
    this.#processes.keep(process)
    this.#pumpSoon()
  }

  /** Settles every run, and ends every process. */
  async close (): Promise<void> {
    this.#closed = true
    this.#processes.refuse()
    for (const place of this.#places.waiting()) {
      for (let run = place.queue.shift(); run !== undefined; run = place.queue.shift()) {
        run.settle({ ...nothing, status: 'cancelled' })
      }
    }
    const working = [...this.#working]
    for (const work of working) work.cancel()
    await Promise.allSettled(working.flatMap(({ calls }) => calls.map(({ run }) => run.outcome)))
    await this.#processes.end()
    this.#memory.close()
    this.#options.proxy.close()
  }

  #cancel (run: Run, place: Place): void {
    if (!place.queue.delete(run)) return run.holder?.cancel()
    this.#waiting--
    run.settle({ ...nothing, status: 'cancelled' })
  }

  /** Pumps at the end of the turn, so that runs that come in the same turn go together. */
  #pumpSoon (): void {
    if (this.#pumping) return
    this.#pumping = true
    setImmediate(() => {
      this.#pumping = false
      this.#pump()
    })
  }

  /** Hands waiting runs to processes, as far as the limits allow: first come, first served. */
  #pump (): void {
    for (let more = true; more && !this.#closed;) {
      more = false
      for (const place of this.#places.waiting()) {
        if (this.#computing >= this.#options.limits.threads) return
        if (this.#begin(place)) more = true
      }
    }
  }

  /** @returns whether runs of the place were given to a process */
  #begin (place: Place): boolean {
    const first = place.queue.first
    if (first === undefined || (isShort(first) && place.batches > 0 && place.queue.size < slotsMax)) return false
    const process = this.#processes.take(place)
    if (process === undefined) {
      this.#grow(place, first)
      return false
    }
    const runs = isShort(first) && process.loaded ? fitting(place) : [first]
    for (const run of runs) if (place.queue.delete(run)) this.#waiting--
    this.#start(process, runs)
    return true
  }

  #grow (place: Place, first: Run): void {
    try {
      this.#processes.grow(place, isShort(first) ? 1 : Math.min(place.queue.size, this.#options.limits.threads))
    } catch (error) {
      if (place.queue.delete(first)) this.#waiting--
      first.fault(error instanceof Error ? error : new Error(messageOf(error)))
    }
  }

  #start (process: ScriptProcess, runs: readonly Run[]): void {
    const { place } = process
    let computing = true
    let inStep = runs.length > 1
    this.#computing++
    if (inStep) place.batches++
    const leave = (): void => {
      if (inStep) place.batches--
      inStep = false
      this.#pumpSoon()
    }
    const wait = (): void => {
      if (computing) this.#computing--
      computing = false
      this.#pumpSoon()
    }
    const watched = { pid: process.pid, since_ms: performance.now(), exhausted: () => { work.exhaust() } }
    const work: Work = new Work(runs, process, this.#options, {
      waiting: wait,
      alone: leave,
      again: (run, end) => { this.#again(run, place, end) },
      over: state => {
        this.#memory.delete(watched)
        this.#working.delete(work)
        if (state === 'free') this.#processes.giveBack(process)
        else if (state === 'settling') this.#processes.letSettle(process)
        else void process.end()
        leave()
        wait()
      }
    })
    this.#working.add(work)
    this.#memory.add(watched)
  }

  /** Takes back a run that did not begin: it waits before all others of its place. */
  #again (run: Run, place: Place, end: ConfinedEnd | undefined): void {
    run.holder = undefined
    if (this.#closed) return run.settle({ ...nothing, status: 'cancelled' })
    if (end !== undefined && ++run.attempts >= attemptsMax) {
      return run.fault(new Error(`${attemptsMax} processes ended before they began the run, the last ${how(end)}`))
    }
    this.#places.keep(place)
    place.queue.unshift(run)
    this.#waiting++
    this.#pumpSoon()
  }

  /** A process did not start. After a few attempts, what waits for it fails. */
  #notStarted (place: Place, end: ConfinedEnd): void {
    if (this.#closed || ++place.failures < attemptsMax) return
    place.failures = 0
    const why = end.stderr.trim().slice(-500)
    for (let run = place.queue.shift(); run !== undefined; run = place.queue.shift()) {
      this.#waiting--
      run.settle(failed(`the confined process of the skill did not start: it ended ${how(end)}: ${why}`))
    }
  }
}
