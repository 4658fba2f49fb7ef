import {
  messageOf, outputBytesStop, outputOf, type Isolation, type Listed, type Logger, type Outcome, type Task,
  type TaskObserver
} from '../../../kernel/index.ts'
import { paceOf, type Pace } from './pace.ts'
import type { Limits } from '../shared/limits.ts'
import type { Of, Result } from '../shared/protocol.ts'

/** Who has a run that is dispatched. */
export interface Holder { cancel (): void }

let numbers = 0

/** A run from its call to its outcome, whichever threads it is tried on. */
export class Run implements Listed<Run> {
  readonly task: Task
  readonly module: string
  /** Whether it is given anything secret. */
  readonly sensitive: boolean
  readonly #observer: TaskObserver
  readonly #log: Logger
  readonly #left: () => void
  readonly outcome: Promise<Outcome>
  #resolve!: (outcome: Outcome) => void
  #reject!: (error: Error) => void
  /** Its place in the order of coming. */
  readonly number = ++numbers
  readonly pace: Pace
  /** Times a thread ended, or blocked, before it began, and no other run was to blame. */
  attempts = 0
  settled = false
  list: object | undefined
  previous: Run | undefined
  next: Run | undefined
  /** Undefined while it waits. */
  holder: Holder | undefined

  /** @param left called when it has its outcome */
  constructor (task: Task, module: string, observer: TaskObserver, log: Logger, left: () => void) {
    this.task = task
    this.module = module
    this.sensitive = task.secrets !== undefined || task.tool.secrets.length > 0
    this.#observer = observer
    this.#log = log
    this.#left = left
    this.pace = paceOf(task.tool)
    this.outcome = new Promise((resolve, reject) => { this.#resolve = resolve; this.#reject = reject })
  }

  settle (outcome: Outcome): void {
    this.settled = true
    this.#left()
    this.#resolve(outcome)
  }

  /** For a fault of the executor's own. */
  fault (error: Error): void {
    this.settled = true
    this.#left()
    this.#reject(error)
  }

  /** @param ago_ms how long ago it began */
  started (isolation: Isolation, ago_ms: number): void {
    if (this.settled) return
    try {
      this.#observer.started(isolation, ago_ms)
    } catch (error) {
      this.#failed(error)
    }
  }

  heard (message: Of<'progress'> | Of<'log'>): void {
    if (this.settled) return
    try {
      if (message.type === 'log') this.#observer.log(message.level, message.text)
      else this.#observer.progress(message.done, message.total, message.message)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** An observer that throws harms neither the run nor the thread's messages. */
  #failed (error: unknown): void {
    this.#log.error({ execution_id: this.task.execution_id, error: messageOf(error) }, 'an observer of a run failed')
  }
}

export const nothing = { output: '', output_truncated: false }

export function failed (message: string, details: Record<string, unknown> = {}): Outcome {
  return { ...nothing, status: 'failed', error: { message, details } }
}

/** The outcome of a run that was neither out of time nor cancelled. */
export function outcomeOf (result: Exclude<Result, { kind: 'recalled' | 'board' }>, bytesMax: number): Outcome {
  switch (result.kind) {
    case 'output': {
      const { output, output_truncated } = outputOf(result.text, bytesMax, result.bytes)
      if (result.bytes <= outputBytesStop) return { output, output_truncated, status: 'success' }
      return {
        output,
        output_truncated,
        status: 'failed',
        error: { message: `the tool put out ${result.bytes} bytes, more than the ${mebibytes(outputBytesStop)} MiB that are allowed`, details: {} }
      }
    }
    case 'failed':
      return failed(result.message, result.name === undefined ? {} : { name: result.name })
  }
}

/** The outcome of a run that used more memory than it may. */
export function outOfMemory ({ heapBytesMax }: Pick<Limits, 'heapBytesMax'>): Outcome {
  const limit = `${mebibytes(heapBytesMax)} MiB of heap and buffers (execution.heap_bytes_max)`
  return failed(`the tool ran out of memory: a script thread may use ${limit}`)
}

/** Timers fire up to this early by the clock that measures a run. */
const timerEarly_ms = 1

/**
 * Whether a run was too long, by the clock where it ran: where the main thread was busy, its timer may fire although
 * the result was in time.
 */
export function outOfTime (ran_ms: number, timeout_ms: number, timerFired: boolean): boolean {
  return ran_ms >= timeout_ms - (timerFired ? timerEarly_ms : 0)
}

export function mebibytes (bytes: number): number {
  return Math.round(bytes / 1_048_576)
}
