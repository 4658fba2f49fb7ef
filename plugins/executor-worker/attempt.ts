import type { Outcome } from '../../kernel/index.ts'
import { attemptsMax, begin_ms, type Limits } from './limits.ts'
import { claims, type Ended, type Of } from './protocol.ts'
import { failed, mebibytes, nothing, outcomeOf, type Run } from './run.ts'
import { ThreadDeath, type Thread } from './thread.ts'

export interface AttemptEvents {
  /** The tool waits: its thread computes nothing for now. */
  waiting (): void
  /** The run was taken back, or its thread ended before it began: it must run elsewhere. */
  again (run: Run): void
}

/** Timers fire up to this early by the clock that measures a run. */
const timerEarly_ms = 1

let numbers = 0

/**
 * One run on one thread, and the ladder that ends it: recalled before the tool begins; asked when it is cancelled or
 * out of time; the thread ended when it does not heed that.
 */
export class Attempt {
  readonly run: Run
  readonly thread: Thread
  readonly number = ++numbers
  /** performance.now() when it was dispatched. */
  readonly dispatched_ms = performance.now()
  /** Why the tool is being ended. */
  #why: 'timeout' | 'cancel' | 'memory' | undefined
  #started = false
  #waiting = false
  #timer: NodeJS.Timeout
  readonly #limits: Limits
  readonly #events: AttemptEvents

  constructor (run: Run, thread: Thread, limits: Limits, events: AttemptEvents) {
    this.run = run
    this.thread = thread
    this.#limits = limits
    this.#events = events
    this.#timer = setTimeout(() => { this.#notBegun() }, begin_ms)
    run.attempts++
  }

  get waiting (): boolean {
    return this.#waiting
  }

  /** Runs it. @returns what may become of the thread */
  async perform (env: Record<string, string>): Promise<Ended['thread']> {
    const { task, module } = this.run
    try {
      const ended = await this.thread.execute({
        type: 'run',
        run: this.number,
        execution_id: task.execution_id,
        module,
        revision: task.skill.revision,
        tool: task.tool.name,
        parameters: task.parameters,
        config: task.config,
        secrets: task.secrets ?? {},
        sensitive: this.run.sensitive,
        env
      })
      clearTimeout(this.#timer)
      this.#conclude(ended)
      return ended.thread
    } catch (error) {
      clearTimeout(this.#timer)
      this.#died(error instanceof ThreadDeath ? error : new ThreadDeath(undefined, error instanceof Error ? error : undefined))
      return 'spent'
    }
  }

  hear (message: Of<'loading' | 'started' | 'waiting' | 'progress' | 'log'>): void {
    switch (message.type) {
      case 'loading':
        if (!this.run.settled) this.#arm(this.#limits.load_ms, () => { this.#notLoaded() })
        break
      case 'started':
        this.#begin()
        break
      case 'waiting':
        if (this.#waiting) break
        this.#waiting = true
        this.#events.waiting()
        break
      case 'progress':
      case 'log':
        this.run.heard(message)
    }
  }

  /** The caller no longer wants it. */
  cancel (): void {
    if (this.run.settled || this.#why !== undefined) return
    // The timer stays: it ends a thread that blocks before, or while, it loads.
    if (this.thread.recall()) this.run.settle({ ...nothing, status: 'cancelled' })
    else this.#ask('cancel')
  }

  /** Its thread uses more heap than it may. */
  exhaust (): void {
    this.#why ??= 'memory'
    void this.thread.end()
  }

  #begin (): void {
    if (this.#started) return
    this.#started = true
    this.run.started('thread')
    if (this.#why === undefined) this.#arm(this.run.task.timeout_ms, () => { this.#ask('timeout') })
  }

  #ask (why: 'timeout' | 'cancel'): void {
    this.#why = why
    this.thread.ask(this.number)
    this.#arm(this.#limits.grace_ms, () => { void this.thread.end() })
  }

  #arm (ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms)
  }

  #notBegun (): void {
    if (!this.thread.recall() && this.thread.claim !== claims.recalled) return // it began just now
    void this.thread.end()
    if (!this.run.settled) this.#again(new Error(`no thread began the run within ${begin_ms} ms`))
  }

  #notLoaded (): void {
    if (!this.thread.recall() && this.thread.claim !== claims.recalled) return
    void this.thread.end()
    if (!this.run.settled) this.run.settle(failed(`the module did not load within ${this.#limits.load_ms} ms`))
  }

  #again (cause: Error): void {
    if (this.run.attempts < attemptsMax) this.#events.again(this.run)
    else this.run.fault(new Error(`${attemptsMax} threads ended or blocked before they began the run`, { cause }))
  }

  #conclude ({ result, ran_ms }: Ended): void {
    if (this.run.settled || result.kind === 'recalled') return
    // The result may have overtaken the message `started`, which goes another way.
    if (this.thread.claim === claims.begun) this.#begin()
    clearTimeout(this.#timer)
    const outcome = outcomeOf(result, this.#limits.outputBytesMax)
    const { output, output_truncated } = outcome
    if (this.#why === 'cancel') this.run.settle({ output, output_truncated, status: 'cancelled' })
    else if (this.#why === 'memory') this.run.settle(this.#outOfMemory())
    else if (this.#outOfTime(ran_ms)) this.run.settle({ output, output_truncated, status: 'timeout' })
    else this.run.settle(outcome)
  }

  /** By the thread's clock: where the main thread was busy, its timer may have fired beside a result that was in time. */
  #outOfTime (ran_ms: number): boolean {
    return ran_ms >= this.run.task.timeout_ms - (this.#why === 'timeout' ? timerEarly_ms : 0)
  }

  #died (death: ThreadDeath): void {
    if (this.run.settled) return
    const { claim } = this.thread
    if (claim === claims.begun) {
      this.#begin()
      clearTimeout(this.#timer)
      this.run.settle(this.#outcomeOfDeath(death, 'the tool'))
    } else if (claim === claims.loading && (this.#why !== undefined || death.outOfMemory || this.run.attempts > 1)) {
      // Once may have been by what another run had left in the thread; twice is the module's own doing.
      this.run.settle(this.#outcomeOfDeath(death, 'the module, while it was loaded,'))
    } else if (claim !== claims.recalled) this.#again(death)
  }

  #outcomeOfDeath (death: ThreadDeath, who: string): Outcome {
    if (this.#why === 'timeout' || this.#why === 'cancel') return { ...nothing, status: this.#why === 'cancel' ? 'cancelled' : 'timeout' }
    if (this.#why === 'memory' || death.outOfMemory) return this.#outOfMemory()
    if (death.cause instanceof Error && death.code !== 0) return failed(`${who} ended its thread: ${death.message}`)
    return failed(`${who} ended its thread with code ${death.code}`)
  }

  #outOfMemory (): Outcome {
    return failed(`the tool ran out of memory: a script thread may use ${mebibytes(this.#limits.heapBytesMax)} MiB of heap (execution.heap_bytes_max)`)
  }
}
