import type { Confinement, Outcome, Task, TaskObserver } from '../../kernel/index.ts'
import type { Command } from '../toolkit/expand-command.ts'
import type { HelperProcess } from './helper-process.ts'
import type { LiveText } from './live-text.ts'
import type { Subject } from './outcome.ts'
import type { OutputStream } from './protocol.ts'
import type { RunNetwork } from './sandbox/run-network.ts'

/** A run that has not ended. */
export interface Run {
  readonly task: Task
  readonly command: Command
  readonly subject: Subject
  /** The level at which it is confined; undefined: not at all. */
  readonly level: Confinement | undefined
  readonly observer: TaskObserver
  /** What it may do with the network, where a list says that. */
  readonly network: RunNetwork
  /** What it has written so far, where that may be shown before the end. */
  readonly live: Readonly<Record<OutputStream, LiveText>> | undefined
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** The helper and the id there, once the run was passed to a helper. */
  at: { helper: HelperProcess, id: number } | undefined
  /** The reason for ending the run early. */
  ending: 'timeout' | 'cancelled' | undefined
  /** Fires when the helper must have answered, or when the tool's time limit is reached. */
  timer: NodeJS.Timeout | undefined
}
