import type { Static, TObject } from 'typebox'
import type { Version } from '../lib/version.ts'
import type { Bus } from './bus.ts'
import type { Call } from './call.ts'
import type { Callable, Operation } from './operation.ts'

/** What transports see of the kernel: the operations, and one way to call them. */
export interface Gateway {
  readonly operations: readonly Operation[]
  readonly version: Version
  readonly bus: Bus
  /**
   * Validates the input, checks the rights of the call, and runs the operation, or what it is to agents, whose input is
   * put right first. Takes the input over: defaults are filled into it.
   * @throws SkilletError, always
   */
  invoke<I extends TObject, O extends TObject> (operation: Callable<I, O>, input: unknown, call: Call): Promise<Static<O>>
  /**
   * As `invoke`, but answers at once where the operation has nothing to wait for.
   * @throws now or by rejecting, and what the handler throws is not made a SkilletError: whoever calls it does that
   * where all that fails meets
   */
  answer<I extends TObject, O extends TObject> (operation: Callable<I, O>, input: unknown, call: Call): Static<O> | Promise<Static<O>>
  /**
   * Whether the storage commits, by a real write, and all executors answer: one probe at a time, and at most one a
   * second, however often it is asked.
   */
  ready (): Promise<boolean>
}
