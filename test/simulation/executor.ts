import type { CancelSignal, Executor, Outcome, Task, TaskObserver } from '../../kernel/index.ts'
import { deferred } from './deferred.ts'

/** What happens next to a run. */
export type Happening =
  /** The tool starts, unless the run was cancelled. */
  | 'start'
  /** The tool starts, and the executor reports it later. */
  | 'start unreported'
  /** The tool ends in this way; it starts before, unless the run was cancelled. */
  | 'success' | 'failed' | 'timeout'
  /** The executor fails. */
  | 'reject'
  /** The executor breaks its contract: an outcome without a start. */
  | 'success without start' | 'timeout without start'
  /** The executor breaks its contract: it reports the start again, or after the end. */
  | 'start again'
  /** The executor loses the run: it does not hear a cancellation, and does not answer for a long time. */
  | 'lose'

const nothing = { output: '', output_truncated: false }

/** A run of the simulated executor. */
export class SimulatedRun {
  readonly task: Task
  readonly observer: TaskObserver
  readonly answer = deferred<Outcome>()
  isCancelled = false
  /** How often the tool started. */
  starts = 0
  isReported = false
  isAnswered = false
  isLost = false
  readonly #started: () => void
  #started_ms = 0

  /** @param started callback: called when the tool starts */
  constructor (task: Task, observer: TaskObserver, signal: CancelSignal, started: () => void) {
    this.task = task
    this.observer = observer
    this.#started = started
    if (signal.aborted) this.isCancelled = true
    else signal.addEventListener('abort', () => { this.isCancelled = true })
  }

  happen (happening: Happening): void {
    if (happening === 'start again') {
      if (!this.isReported && !this.isAnswered) return
      this.isReported = true
      return this.observer.started('none')
    }
    if (this.isAnswered || this.isLost) return
    if (happening === 'lose') this.isLost = true
    else this.finish(happening)
  }

  /** As `happen`, also for a run that was lost. */
  finish (happening: Happening): void {
    if (this.isAnswered) return
    switch (happening) {
      case 'start': return this.#start()
      case 'start unreported': return this.#startUnreported()
      case 'reject': return this.#reject()
      case 'success without start': return this.#end({ ...nothing, status: 'success', output: outputOf(this.task) })
      case 'timeout without start': return this.#end({ ...nothing, status: 'timeout' })
      case 'failed': return this.#fail()
      default:
        this.#start()
        if (this.starts === 0) this.#end({ ...nothing, status: 'cancelled' })
        else if (happening === 'success') this.#end({ ...nothing, status: 'success', output: outputOf(this.task) })
        else this.#end({ ...nothing, status: this.isCancelled ? 'cancelled' : 'timeout' })
    }
  }

  /** The process of the run died. */
  crash (): void {
    if (this.isAnswered) return
    this.isAnswered = true
    this.answer.reject(new Error('the process is dead'))
  }

  #start (): void {
    this.#startUnreported()
    if (this.starts === 0 || this.isReported) return
    this.isReported = true
    this.observer.started('none', performance.now() - this.#started_ms)
  }

  #startUnreported (): void {
    if (this.starts > 0 || this.isCancelled) return
    this.starts++
    this.#started_ms = performance.now()
    this.#started()
  }

  #fail (): void {
    if (this.starts > 0) this.#start()
    if (this.isCancelled && this.starts === 0) this.#end({ ...nothing, status: 'cancelled' })
    else this.#end({ ...nothing, status: 'failed', error: { message: 'it failed', details: {} } })
  }

  #reject (): void {
    this.isAnswered = true
    this.answer.reject(new Error('the executor failed'))
  }

  #end (outcome: Outcome): void {
    this.isAnswered = true
    this.answer.resolve(outcome)
  }
}

/** The output of a successful run. */
export function outputOf ({ parameters }: Pick<Task, 'parameters'>): string {
  return `output of request ${String(parameters['request'])}`
}

/** An executor whose runs do what the history says. It obeys a cancellation, except for a run that it lost. */
export class SimulatedExecutor implements Executor {
  readonly runtime = 'simulated'
  readonly runs: SimulatedRun[] = []
  /** Runs for which the kernel may still count an execution that waits. */
  readonly waiting = new Set<SimulatedRun>()
  readonly #began: (run: SimulatedRun) => void
  readonly #started: (run: SimulatedRun) => void

  /**
   * @param began callback: called for each run that the kernel gives to the executor
   * @param started callback: called when a tool starts
   */
  constructor (began: (run: SimulatedRun) => void, started: (run: SimulatedRun) => void) {
    this.#began = began
    this.#started = started
  }

  run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    const run = new SimulatedRun(task, observer, signal, () => { this.#started(run) })
    this.runs.push(run)
    this.waiting.add(run)
    this.#began(run)
    return run.answer.promise
  }
}
