import { SkilletError, within, type Executor, type Logger, type Outcome, type Task, type TaskObserver } from '../../kernel/index.ts'
import { Attempt } from './attempt.ts'
import { declaredEnvironment, threadEnvironment } from './environment.ts'
import { headroom_mib, type HeapWatch } from './heap-watch.ts'
import { begin_ms, settle_ms, type Limits } from './limits.ts'
import type { Message } from './protocol.ts'
import { Queue } from './queue.ts'
import { failed, mebibytes, nothing, Run } from './run.ts'
import { Thread } from './thread.ts'

/**
 * Runs script tools in threads: one run to a thread at a time, first come, first served. At most `threads` of them
 * compute; one whose tool waits for something outside gives its place to another thread meanwhile.
 */
export class Pool implements Executor {
  readonly runtime = 'script'
  readonly #limits: Limits
  readonly #log: Logger
  readonly #heap: HeapWatch
  readonly #environment = threadEnvironment(process.env)
  readonly #queue = new Queue<Run>()
  /** All that have not ended. */
  readonly #threads = new Set<Thread>()
  /** Last given back, last: it is used first, so that those that are not needed grow old. */
  readonly #idle: Thread[] = []
  /** By number. */
  readonly #attempts = new Map<number, Attempt>()
  /** Called when a thread says it is clean, by the number of the run that left something open. */
  readonly #settling = new Map<number, () => void>()
  #computing = 0
  #closed = false
  #sweep: NodeJS.Timeout | undefined

  constructor (limits: Limits, heap: HeapWatch, log: Logger) {
    this.#limits = limits
    this.#heap = heap
    this.#log = log
  }

  /** Threads there are, whatever they do. */
  get size (): number {
    return this.#threads.size
  }

  /**
   * Runs a task to its outcome.
   * @throws SkilletError OVERLOADED when the queue is full
   */
  async run (task: Task, observer: TaskObserver, signal: AbortSignal): Promise<Outcome> {
    if (signal.aborted || this.#closed) return { ...nothing, status: 'cancelled' }
    const { module } = task.skill
    if (module === undefined) return failed(`the skill ${task.skill.name} has no module to run`)
    if (this.#queue.size >= this.#limits.queueMax) {
      throw new SkilletError('OVERLOADED', `${this.#queue.size} script tools are waiting, as many as execution.queue_max allows; try again later`)
    }
    const run = new Run(task, module, observer, this.#log)
    const cancel = (): void => { this.#cancel(run) }
    signal.addEventListener('abort', cancel, { once: true })
    this.#queue.push(run)
    this.#pump()
    try {
      return await run.outcome
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  async probe (): Promise<void> {
    if (this.#closed) throw new Error('the executor is stopping')
    if (this.#computing >= this.#limits.threads) return // each has its time limit
    const thread = this.#idle.pop() ?? (this.#threads.size < this.#limits.threadsMax ? this.#start() : undefined)
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
    for (let run = this.#queue.shift(); run !== undefined; run = this.#queue.shift()) run.settle({ ...nothing, status: 'cancelled' })
    const running = [...this.#attempts.values()]
    for (const attempt of running) attempt.cancel()
    await Promise.allSettled(running.map(attempt => attempt.run.outcome))
    await Promise.all([...this.#threads].map(thread => thread.end()))
    this.#heap.close()
  }

  #cancel (run: Run): void {
    if (this.#queue.delete(run)) return run.settle({ ...nothing, status: 'cancelled' })
    for (const attempt of this.#attempts.values()) if (attempt.run === run) attempt.cancel()
  }

  /** Gives threads what waits, as far as the limits allow. */
  #pump (): void {
    while (!this.#closed && this.#computing < this.#limits.threads) {
      const run = this.#queue.first()
      if (run === undefined) return
      const thread = this.#threadFor(run)
      if (thread === undefined) return
      this.#queue.shift()
      void this.#perform(run, thread)
    }
  }

  async #perform (run: Run, thread: Thread): Promise<void> {
    let computing = true
    this.#computing++
    const attempt = new Attempt(run, thread, this.#limits, {
      waiting: () => {
        if (!computing) return
        computing = false
        this.#computing--
        this.#pump()
      },
      again: run => {
        if (this.#closed) return run.settle({ ...nothing, status: 'cancelled' })
        this.#queue.unshift(run)
        this.#pump()
      }
    })
    this.#attempts.set(attempt.number, attempt)
    const watched = {
      get thread_id () { return thread.id },
      since_ms: attempt.dispatched_ms,
      get waiting () { return attempt.waiting },
      exhausted: () => { attempt.exhaust() }
    }
    this.#heap.add(watched)
    const state = await attempt.perform(declaredEnvironment(process.env, run.task.skill.permissions.env))
    this.#heap.delete(watched)
    this.#attempts.delete(attempt.number)
    if (computing) this.#computing--
    switch (state) {
      case 'free':
        this.#giveBack(thread)
        break
      case 'settling':
        this.#letSettle(thread, attempt.number)
        break
      case 'spent':
        void thread.end()
    }
    this.#pump()
  }

  /** An idle thread, or a new one. Undefined when there are as many as there may be: one that ends pumps again. */
  #threadFor (run: Run): Thread | undefined {
    for (let i = this.#idle.length - 1; i >= 0; i--) {
      const thread = this.#idle[i]
      if (thread === undefined) continue
      if (!thread.takes(run)) continue
      const loaded = thread.revisions.get(run.module)
      this.#idle.splice(i, 1)
      if (loaded === undefined || loaded === run.task.skill.revision) return thread
      // Modules stay loaded, with all they import: another revision needs a thread that has none of it.
      void thread.end()
    }
    if (this.#threads.size < this.#limits.threadsMax) return this.#start()
    void this.#idle.shift()?.end() // one that only others may have makes room
    return undefined
  }

  #start (): Thread {
    const { heapBytesMax, outputBytesMax } = this.#limits
    const thread: Thread = new Thread({
      data: { output_bytes_max: outputBytesMax, heap_bytes_kept_max: heapBytesMax / 2 },
      heap_mib: mebibytes(heapBytesMax) + (this.#heap.works ? headroom_mib : 0),
      env: this.#environment,
      onMessage: message => { this.#hear(message) },
      onStray: error => { this.#stray(error.message) },
      onGone: () => {
        this.#threads.delete(thread)
        const at = this.#idle.indexOf(thread)
        if (at >= 0) this.#idle.splice(at, 1)
        this.#pump()
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
  #letSettle (thread: Thread, number: number): void {
    const timer = setTimeout(() => {
      this.#settling.delete(number)
      void thread.end()
    }, settle_ms)
    this.#settling.set(number, () => {
      clearTimeout(timer)
      this.#settling.delete(number)
      this.#giveBack(thread)
      this.#pump()
    })
  }

  #endIdle (): void {
    const before_ms = performance.now() - this.#limits.idle_ms
    while (this.#idle[0] !== undefined && this.#idle[0].idle_since_ms < before_ms) void this.#idle.shift()?.end()
    if (this.#threads.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #hear (message: Message): void {
    switch (message.type) {
      case 'stray':
        return this.#stray(message.text)
      case 'clean':
        return this.#settling.get(message.run)?.()
      case 'loading':
      case 'started':
      case 'waiting':
      case 'progress':
      case 'log':
        return this.#attempts.get(message.run)?.hear(message)
      case 'run':
      case 'ask':
      case 'ping':
      case 'ready':
      case 'ended': // Sent another way, or heard by the thread itself.
    }
  }

  #stray (text: string): void {
    this.#log.warn({ error: text }, 'a script tool raised an error after its end')
  }
}
