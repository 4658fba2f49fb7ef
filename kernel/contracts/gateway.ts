import type { Static, TObject } from 'typebox'
import type { Version } from '../lib/version.ts'
import type { Bus } from './bus.ts'
import type { Call } from './call.ts'
import type { LiveEvents } from './live.ts'
import type { Outputs } from './outputs.ts'
import type { Callable, Operation } from './operation.ts'

/** The kernel as transports see it: the operations, and the functions that call them. */
export interface Gateway {
  readonly operations: readonly Operation[]
  readonly version: Version
  readonly bus: Bus
  /**
   * Checks the rights of the call, corrects the input when the callable has a `correct` function, validates the input
   * and runs the operation. The input object belongs to the gateway after the call: default values are filled into it.
   * @throws SkilletError, always
   */
  invoke<I extends TObject, O extends TObject> (
    operation: Callable<I, O>,
    input: unknown,
    call: Call
  ): Promise<Static<O>>
  /**
   * Like `invoke`, but returns the result synchronously when the operation does not have to wait.
   * @throws synchronously or by rejecting. Errors of the handler are not converted to a SkilletError: the caller
   * converts them in the place where it handles all errors.
   */
  answer<I extends TObject, O extends TObject> (
    operation: Callable<I, O>,
    input: unknown,
    call: Call
  ): Static<O> | Promise<Static<O>>
  /**
   * The events of executions that a caller may see, for as long as the caller reads them.
   * @throws SkilletError FORBIDDEN when the rights of the call do not cover reading
   */
  live (call: Pick<Call, 'access'>): LiveEvents
  /**
   * The whole outputs of executions that a caller may see.
   * @throws SkilletError FORBIDDEN when the rights of the call do not cover reading
   */
  outputs (call: Pick<Call, 'access'>): Pick<Outputs, 'open'>
  /**
   * Whether the storage commits, tested with a real write, and all executors answer. One probe runs at a time, and at
   * most one probe a second starts, however often this function is called.
   */
  ready (): Promise<boolean>
}
