import {
  SkilletError, within,
  type CancelSignal, type Executor, type Logger, type Outcome, type Task, type TaskObserver
} from '../../../kernel/index.ts'
import { Attempt } from './attempt.ts'
import { Batch } from './batch.ts'
import { slotsMax } from '../shared/board.ts'
import { headroom_mib, HeapWatch } from './heap-watch.ts'
import { Lanes } from './lanes.ts'
import { begin_ms, stopping, type Limits } from '../shared/limits.ts'
import { failed, mebibytes, nothing, Run } from './run.ts'
import { noRoom } from './thread-death.ts'
import type { Thread } from './thread.ts'
import { Threads } from './threads.ts'

/**
 * Tools that are known to take long give way to the server and to short tools, by so much. Where all cores compute, p99
 * of health checks on 64 connections is 8 times idle at 10, a whole time slice of 4 ms; 1.4 times at 15, 1.2 at 19,
 * where a tool beside other programs gets next to nothing.
 */
const nice = 15

/**
 * Runs script tools in threads, at most `threads` of which compute. There are two lanes. Short tools share a thread's
 * turn, up to 64 runs as one message, and wait for the batch before them where that makes a single batch of two. All
 * other runs have a thread to themselves, first come, first served. A tool is short when its runs were short. A run
 * that takes longer than that is left alone with the thread, and a run that waits for something outside gives its place
 * to another thread meanwhile.
 */
export class Pool implements Executor {
  readonly runtime = 'script'
  readonly #limits: Limits
  readonly #log: Logger
  readonly #heap: HeapWatch
  readonly #lanes = new Lanes()
  readonly #threads: Threads
  /** The attempt or batch of each busy thread. */
  readonly #busy = new Map<Thread, Attempt | Batch>()
  #computing = 0
  /** Batches that go as they should. */
  #batches = 0
  #pumping = false
  #closed = false

  constructor (limits: Limits, log: Logger) {
    this.#limits = limits
    this.#log = log
    this.#heap = new HeapWatch(limits.heapBytesMax, log, () => this.#threads.quiet)
    const heap_mib = mebibytes(limits.heapBytesMax) + (this.#heap.works ? headroom_mib : 0)
    this.#threads = new Threads(limits, heap_mib, log, {
      room: () => { this.#pumpSoon() },
      said: (thread, message) => { this.#busy.get(thread)?.hear(message) }
    })
  }

  /** All threads, whatever they do. */
  get size (): number {
    return this.#threads.size
  }

  /**
   * Runs a task to its outcome.
   * @throws SkilletError OVERLOADED when the queue is full, the system has no room for another thread, or it is closed
   */
  run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closed) return Promise.reject(new SkilletError('OVERLOADED', stopping))
    if (signal.aborted) return Promise.resolve({ ...nothing, status: 'cancelled' })
    const { module } = task.skill
    if (module === undefined) return Promise.resolve(failed(`the skill ${task.skill.name} has no module to run`))
    const waiting = this.#lanes.size
    if (waiting >= this.#limits.queueMax) {
      const why = `${waiting} script tools are waiting, as many as execution.queue_max allows; try again later`
      return Promise.reject(new SkilletError('OVERLOADED', why))
    }
    const cancel = (): void => { this.#cancel(run) }
    const run = new Run(task, module, observer, this.#log, () => { signal.removeEventListener('abort', cancel) })
    signal.addEventListener('abort', cancel, { once: true })
    this.#lanes.add(run)
    this.#pumpSoon()
    return run.outcome
  }

  /** Starts a thread where there is none yet. */
  prepare (): void {
    if (this.#closed || this.#threads.size > 0) return
    const thread = this.#threads.takeAny()
    if (thread !== undefined) this.#threads.giveBack(thread)
  }

  async probe (): Promise<void> {
    if (this.#closed) throw new Error(stopping)
    if (this.#computing >= this.#limits.threads) return // each has its time limit
    const thread = this.#threads.takeAny()
    if (thread === undefined) return
    if (!await within(begin_ms, thread.ping()).catch(() => false)) {
      void thread.end()
      throw new Error('a script thread does not answer')
    }
    this.#threads.giveBack(thread)
    this.#pump()
  }

  /** Settles every run, and ends every thread. */
  async close (): Promise<void> {
    this.#closed = true
    this.#threads.refuse()
    for (let run = this.#lanes.shift(); run !== undefined; run = this.#lanes.shift()) {
      run.settle({ ...nothing, status: 'cancelled' })
    }
    const dispatched = [...this.#busy.values()]
    for (const work of dispatched) work.cancel()
    await Promise.allSettled(dispatched.flatMap(work => work.runs.map(run => run.outcome)))
    await this.#threads.end()
    this.#heap.close()
  }

  #cancel (run: Run): void {
    if (this.#lanes.delete(run)) run.settle({ ...nothing, status: 'cancelled' })
    else run.holder?.cancel()
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

  /** Hands waiting runs to threads, as far as the limits allow: of the first of both lanes, the older. */
  #pump (): void {
    let more = true
    while (more && !this.#closed && this.#computing < this.#limits.threads) {
      const short = this.#lanes.firstShort()
      const other = this.#lanes.firstOther()
      if (short === undefined || (other !== undefined && other.number < short.number)) {
        more = this.#startOther(other) || this.#startShort(short)
      } else more = this.#startShort(short) || this.#startOther(other)
    }
  }

  #startOther (run: Run | undefined): boolean {
    const thread = run && this.#threadFor(run, run.pace.known && !run.pace.short ? nice : 0)
    if (run === undefined || thread === undefined) return false
    this.#lanes.delete(run)
    if (thread instanceof Error) return this.#refuse(run, thread)
    this.#start(thread, [run], false)
    return true
  }

  #startShort (first: Run | undefined): boolean {
    if (first === undefined || (this.#batches > 0 && this.#lanes.shortSize < slotsMax)) return false
    const thread = this.#threadFor(first, 0)
    if (thread === undefined) return false
    if (thread instanceof Error) return this.#lanes.delete(first) && this.#refuse(first, thread)
    const together = thread.has(first.module, first.task.skill.revision)
    const runs = together ? this.#lanes.fitting(thread) : [first]
    for (const run of runs) this.#lanes.delete(run)
    this.#start(thread, runs, together)
    return true
  }

  /** A thread for a run. Undefined when no thread is free; an error where the system has no room for another. */
  #threadFor (run: Run, nice: number): Thread | Error | undefined {
    try {
      return this.#threads.take(run, nice)
    } catch (cause) {
      return noRoom(cause)
    }
  }

  #refuse (run: Run, error: Error): true {
    run.fault(error)
    return true
  }

  #start (thread: Thread, runs: readonly Run[], together: boolean): void {
    let computing = true
    let inStep = together
    this.#computing++
    if (inStep) this.#batches++
    const leave = (): void => {
      if (inStep) this.#batches--
      inStep = false
      this.#pumpSoon()
    }
    const wait = (): void => {
      if (computing) this.#computing--
      computing = false
      this.#pumpSoon()
    }
    const again = (run: Run): void => { this.#again(run) }
    const events = { waiting: wait, again, alone: leave }
    const [run] = runs
    const work = together || run === undefined
      ? new Batch(runs, thread, this.#limits, events)
      : new Attempt(run, thread, 0, this.#limits, events)
    this.#busy.set(thread, work)
    const watched = {
      get thread_id () { return thread.id },
      since_ms: work.dispatched_ms,
      get waiting () { return work.waiting },
      exhausted: () => { work.exhaust() }
    }
    this.#heap.add(watched)
    const end = (): void => {
      this.#heap.delete(watched)
      leave()
      wait()
    }
    void this.#perform(thread, work, end)
  }

  /** Takes back a run that did not begin: it waits before all others. */
  #again (run: Run): void {
    run.holder = undefined
    if (this.#closed) return run.settle({ ...nothing, status: 'cancelled' })
    this.#lanes.addFirst(run)
    this.#pumpSoon()
  }

  async #perform (thread: Thread, work: Attempt | Batch, end: () => void): Promise<void> {
    const state = await work.perform()
    end()
    this.#busy.delete(thread)
    if (state === 'free') this.#threads.giveBack(thread)
    else if (state === 'settling') this.#threads.letSettle(thread)
    else void thread.end()
    this.#pump()
  }
}
