import { letThreadsEnd, List, messageOf, SkilletError, within, type CancelSignal, type Executor, type Logger, type Outcome, type Task, type TaskObserver } from '../../../kernel/index.ts'
import { Attempt } from './attempt.ts'
import { Batch } from './batch.ts'
import { slotsMax } from '../shared/board.ts'
import { threadEnvironment } from './environment.ts'
import { headroom_mib, HeapWatch } from './heap-watch.ts'
import { batch_ms, begin_ms, settle_ms, stopping, type Limits } from '../shared/limits.ts'
import { failed, mebibytes, nothing, Run } from './run.ts'
import { Thread, type ThreadOptions } from './thread.ts'

/**
 * Tools that are known to take long give way to the server and to short ones, by so much. Where all cores compute, p99 of health checks on
 * 64 connections is 8 times idle at 10, a whole time slice of 4 ms; 1.4 times at 15, 1.2 at 19, where a tool beside other programs gets next to nothing.
 */
const nice = 15
/** How far into the queue is looked for runs that fit into a batch. */
const lookedAtMax = 4 * slotsMax

/**
 * Runs script tools in threads, at most `threads` of which compute. Two lanes: short tools share a thread's turn, up to
 * 64 runs as one message, and wait for the batch before them where that makes one of two; all others have a thread to
 * themselves, first come, first served. A tool is short when its runs were; one that turns out otherwise is left alone with the thread,
 * and one that waits for something outside gives its place to another thread meanwhile.
 */
export class Pool implements Executor {
  readonly runtime = 'script'
  readonly #limits: Limits
  readonly #log: Logger
  readonly #heap: HeapWatch
  readonly #environment = threadEnvironment(process.env)
  readonly #short = new List<Run>()
  readonly #others = new List<Run>()
  /** All that have not ended. */
  readonly #threads = new Set<Thread>()
  /** Last given back, last: it is used first, so that those that are not needed grow old. */
  readonly #idle: Thread[] = []
  /** What each busy thread was given. */
  readonly #given = new Map<Thread, Attempt | Batch>()
  /** Called when a thread says it is clean. */
  readonly #settling = new Map<Thread, () => void>()
  #computing = 0
  /** Batches that go as they should. */
  #batches = 0
  #pumping = false
  #closed = false
  #sweep: NodeJS.Timeout | undefined

  constructor (limits: Limits, log: Logger) {
    letThreadsEnd()
    this.#limits = limits
    this.#log = log
    this.#heap = new HeapWatch(limits.heapBytesMax, log, () => [...this.#threads].every(thread => !thread.leaving))
  }

  /** Threads there are, whatever they do. */
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
    const waiting = this.#short.size + this.#others.size
    if (waiting >= this.#limits.queueMax) {
      return Promise.reject(new SkilletError('OVERLOADED', `${waiting} script tools are waiting, as many as execution.queue_max allows; try again later`))
    }
    const cancel = (): void => { this.#cancel(run) }
    const run = new Run(task, module, observer, this.#log, () => { signal.removeEventListener('abort', cancel) })
    signal.addEventListener('abort', cancel, { once: true })
    this.#laneOf(run).push(run)
    this.#pumpSoon()
    return run.outcome
  }

  /** Starts a thread, where there is none. */
  prepare (): void {
    if (this.#closed || this.#threads.size > 0) return
    this.#giveBack(this.#newThread(0))
  }

  async probe (): Promise<void> {
    if (this.#closed) throw new Error(stopping)
    if (this.#computing >= this.#limits.threads) return // each has its time limit
    const thread = this.#idle.pop() ?? (this.#threads.size < this.#limits.threadsMax ? this.#newThread(0) : undefined)
    if (thread === undefined) return
    if (!await within(begin_ms, thread.ping()).catch(() => false)) {
      void thread.end()
      throw new Error('a script thread does not answer')
    }
    this.#giveBack(thread)
    this.#pump()
  }

  /** Settles every run, and ends every thread. */
  async close (): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweep)
    for (const lane of [this.#short, this.#others]) {
      for (let run = lane.shift(); run !== undefined; run = lane.shift()) run.settle({ ...nothing, status: 'cancelled' })
    }
    const given = [...this.#given.values()]
    for (const one of given) one.cancel()
    await Promise.allSettled(given.flatMap(one => one.runs.map(run => run.outcome)))
    await Promise.all([...this.#threads].map(thread => thread.end()))
    this.#heap.close()
  }

  #cancel (run: Run): void {
    if (this.#short.delete(run) || this.#others.delete(run)) run.settle({ ...nothing, status: 'cancelled' })
    else run.holder?.cancel()
  }

  #laneOf (run: Run): List<Run> {
    return !run.sensitive && run.pace.short ? this.#short : this.#others
  }

  /** At the end of the turn, so that what comes in it goes together. */
  #pumpSoon (): void {
    if (this.#pumping) return
    this.#pumping = true
    setImmediate(() => {
      this.#pumping = false
      this.#pump()
    })
  }

  /** Gives threads what waits, as far as the limits allow: of the first of both lanes, the older. */
  #pump (): void {
    let more = true
    while (more && !this.#closed && this.#computing < this.#limits.threads) {
      const short = this.#firstOf(this.#short)
      const other = this.#firstOf(this.#others)
      if (short === undefined || (other !== undefined && other.number < short.number)) more = this.#startOther(other) || this.#startShort(short)
      else more = this.#startShort(short) || this.#startOther(other)
    }
  }

  /** What has been learned of a tool since may have changed the lane of its runs. */
  #firstOf (lane: List<Run>): Run | undefined {
    for (let run = lane.first; run !== undefined; run = lane.first) {
      if (this.#laneOf(run) === lane) return run
      lane.delete(run)
      this.#laneOf(run).push(run)
    }
    return undefined
  }

  #startOther (run: Run | undefined): boolean {
    const thread = run && this.#threadOrRefusal(run, run.pace.known && !run.pace.short ? nice : 0)
    if (run === undefined || thread === undefined) return false
    this.#others.delete(run)
    if (thread instanceof Error) return this.#refuse(run, thread)
    this.#start(thread, [run], false)
    return true
  }

  #startShort (first: Run | undefined): boolean {
    if (first === undefined || (this.#batches > 0 && this.#short.size < slotsMax)) return false
    const thread = this.#threadOrRefusal(first, 0)
    if (thread === undefined) return false
    if (thread instanceof Error) return this.#short.delete(first) && this.#refuse(first, thread)
    const together = thread.has(first.module, first.task.skill.revision)
    const runs = together ? this.#fitting(thread) : [first]
    for (const run of runs) this.#short.delete(run)
    this.#start(thread, runs, together)
    return true
  }

  /** As `threadFor`; an error where the system has no room for another. */
  #threadOrRefusal (run: Run, nice: number): Thread | Error | undefined {
    try {
      return this.#threadFor(run, nice)
    } catch (error) {
      this.#log.error({ error: messageOf(error) }, 'no script thread could be started')
      return new SkilletError('OVERLOADED', 'The system has no room for another script thread; try again later', {}, { cause: error })
    }
  }

  #refuse (run: Run, error: Error): true {
    run.fault(error)
    return true
  }

  /** The short runs that a thread can take as one batch. */
  #fitting (thread: Thread): Run[] {
    const runs: Run[] = []
    let looked = 0
    let ms = 0
    for (const run of this.#short) {
      if (runs.length === slotsMax || looked++ === lookedAtMax || ms > batch_ms) break
      if (!run.pace.short || !thread.has(run.module, run.task.skill.revision)) continue
      ms += run.pace.mean_ms
      runs.push(run)
    }
    return runs
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
    const again = (run: Run): void => {
      run.holder = undefined
      if (this.#closed) return run.settle({ ...nothing, status: 'cancelled' })
      this.#laneOf(run).unshift(run)
      this.#pumpSoon()
    }
    const events = { waiting: wait, again, alone: leave }
    const [run] = runs
    const given = together || run === undefined ? new Batch(runs, thread, this.#limits, events) : new Attempt(run, thread, 0, this.#limits, events)
    this.#given.set(thread, given)
    const watched = {
      get thread_id () { return thread.id },
      since_ms: given.dispatched_ms,
      get waiting () { return given.waiting },
      exhausted: () => { given.exhaust() }
    }
    this.#heap.add(watched)
    const end = (): void => {
      this.#heap.delete(watched)
      leave()
      wait()
    }
    void this.#perform(thread, given, end)
  }

  async #perform (thread: Thread, given: Attempt | Batch, end: () => void): Promise<void> {
    const state = await given.perform()
    end()
    this.#given.delete(thread)
    if (state === 'free') this.#giveBack(thread)
    else if (state === 'settling') this.#letSettle(thread)
    else void thread.end()
    this.#pump()
  }

  /** An idle thread, or a new one. Undefined when there are as many as there may be: one that ends pumps again. */
  #threadFor (run: Run, nice: number): Thread | undefined {
    const { directory, revision } = run.task.skill
    const fits = (thread: Thread): boolean => !thread.leaving && thread.nice === nice && thread.takes(run)
    let at = this.#idle.findLastIndex(thread => fits(thread) && thread.has(run.module, revision))
    while (at >= 0 || (at = this.#idle.findLastIndex(fits)) >= 0) {
      const [thread] = this.#idle.splice(at, 1)
      if (thread === undefined) break
      const known = thread.revisions.get(run.module)
      const version = thread.versions.get(directory) ?? run.module
      if (version === run.module && (known === undefined || known === revision)) {
        thread.versions.set(directory, run.module)
        return thread
      }
      // Modules stay loaded, with all they import and left behind: another version needs a thread that has none of it.
      void thread.end()
      at = -1
    }
    if (this.#threads.size < this.#limits.threadsMax) {
      const thread = this.#newThread(nice)
      thread.versions.set(directory, run.module)
      return thread
    }
    void this.#idle.shift()?.end() // one that only others may have makes room
    return undefined
  }

  #newThread (nice: number): Thread {
    const { heapBytesMax, outputBytesMax } = this.#limits
    const thread: Thread = new Thread({
      data: { output_bytes_max: outputBytesMax, memory_bytes_kept_max: heapBytesMax / 2 },
      heap_mib: mebibytes(heapBytesMax) + (this.#heap.works ? headroom_mib : 0),
      env: this.#environment,
      nice,
      onMessage: message => { this.#hear(thread, message) },
      onStray: text => { this.#log.warn({ error: text }, 'a script tool raised an error after its end') },
      onNonsense: what => { this.#log.warn({ what, skills: [...thread.versions.keys()] }, 'a script thread was ended for what it sent the server') },
      onGone: () => {
        this.#threads.delete(thread)
        const at = this.#idle.indexOf(thread)
        if (at >= 0) this.#idle.splice(at, 1)
        this.#pumpSoon()
      }
    })
    this.#threads.add(thread)
    this.#sweep ??= setInterval(() => { this.#endIdle() }, this.#limits.idle_ms / 2).unref()
    return thread
  }

  #giveBack (thread: Thread): void {
    if (thread.ending) return
    if (this.#closed) return void thread.end()
    thread.idle_since_ms = performance.now()
    this.#idle.push(thread)
  }

  /** What a tool left open has a moment to close; the thread is nobody's until then. */
  #letSettle (thread: Thread): void {
    const timer = setTimeout(() => {
      this.#settling.delete(thread)
      void thread.end()
    }, settle_ms)
    this.#settling.set(thread, () => {
      clearTimeout(timer)
      this.#settling.delete(thread)
      this.#giveBack(thread)
      this.#pumpSoon()
    })
  }

  #endIdle (): void {
    const before_ms = performance.now() - this.#limits.idle_ms
    while (this.#idle[0] !== undefined && this.#idle[0].idle_since_ms < before_ms) void this.#idle.shift()?.end()
    if (this.#threads.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #hear (thread: Thread, message: Parameters<ThreadOptions['onMessage']>[0]): void {
    if (message.type === 'clean') this.#settling.get(thread)?.()
    else this.#given.get(thread)?.hear(message)
  }
}
