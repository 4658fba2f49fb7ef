import type { CancelSignal } from '../lib/cancel.ts'
import type { Access } from './access.ts'
import type { QuestionHandler } from './ask.ts'

/** A call of an operation: its transport, its caller's rights, and the signal that ends it. */
export interface Call {
  /** Name of the transport that received the call. */
  transport: string
  /** Aborts when the caller disconnects; the work that the caller waits for is then cancelled. */
  signal: CancelSignal
  /**
   * Callback: receives the id of the execution that the call starts, as soon as that execution exists. Events of the
   * execution on the bus carry the same id.
   */
  accepted?: (execution_id: string) => void
  /** Answers what a tool asks of the caller while it runs; absent when the caller can't be asked anything. */
  readonly questions?: QuestionHandler | undefined
  /** The rights of the call; a call without rights may do everything. The gateway enforces them. */
  readonly access?: Access | undefined
}
