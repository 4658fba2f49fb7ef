import type { Refusals } from '../../toolkit/network/refusals.ts'
import type { Environment } from '../protocol.ts'

/** How a command reaches the places in its skill's list. */
export interface RunPass {
  /** By which variables programs find the way. */
  readonly variables: Environment
  /** Ends all connections. */
  end (): void
}

/** What a run may do with the network, and what was refused. */
export interface RunNetwork {
  /** Undefined where no list says what it may reach. */
  pass: RunPass | undefined
  readonly refusals: Refusals
}
