import type { CancelSignal } from '../lib/cancel.ts'
import type { Access } from './access.ts'

/** How a call came in. */
export interface Call {
  /** Name of the transport. */
  transport: string
  /** Aborts when the caller went away; what it waits for is then cancelled. */
  signal: CancelSignal
  /** Told the id of the execution that the call makes, as soon as there is one; its events on the bus carry it. */
  accepted?: (execution_id: string) => void
  /** The rights it came with; without any it may do everything. The gateway enforces them. */
  readonly access?: Access | undefined
}
