import type { Outcome, Task, TaskObserver } from '../../kernel/index.ts'
import type { Command } from '../toolkit/expand-command.ts'
import type { HelperProcess } from './helper-process.ts'
import type { LiveText } from './live-text.ts'
import type { Subject } from './outcome.ts'

/** A run that has not ended. */
export interface Run {
  readonly task: Task
  readonly command: Command
  readonly subject: Subject
  readonly observer: TaskObserver
  /** What was put out so far, where somebody listens. */
  readonly live: LiveText | undefined
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** Where it runs, once it was handed to a helper. */
  at: { helper: HelperProcess, id: number } | undefined
  /** Why it was asked to end. */
  ending: 'timeout' | 'cancelled' | undefined
  /** Until the helper must have answered, or the tool's time is up. */
  timer: NodeJS.Timeout | undefined
}
