import type { Admission } from '../access/request-guard.ts'
import type { Framing } from '../engine/framing.ts'
import type { Exchange } from '../engine/server.ts'

/** A request that was let in, and what its reply needs. */
export interface RequestContext {
  readonly exchange: Exchange
  readonly framing: Framing
  /** For pages of an allowed origin. */
  readonly cors: readonly string[] | undefined
  /** Its key's rights, and what its reply says of its limits. */
  readonly admission: Admission
}
