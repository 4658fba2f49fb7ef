import type { Static, TObject } from 'typebox'
import type { ErrorCode } from '../lib/errors.ts'
import type { Call } from './call.ts'
import type { JsonObject } from './schemas.ts'
import type { Services } from './services.ts'

/** What can be called through the gateway: checked input, rights by effect, a handler. */
export interface Callable<I extends TObject = TObject, O extends TObject = TObject> {
  /** In snake case; CLI commands and OpenAPI operation ids are named after it. */
  readonly name: string
  /** `read` changes nothing and may be repeated. */
  readonly effect: 'read' | 'write'
  readonly description: string
  readonly input: I
  readonly output: O
  /**
   * Puts right what callers write nearly, before the input is checked. Absent where callers are taken at their word.
   * @throws SkilletError
   */
  correct? (services: Services, given: JsonObject): JsonObject
  handler (services: Services, input: Static<I>, call: Call): Static<O> | Promise<Static<O>>
}

/**
 * An operation, whole: every transport is a fold over a table of these.
 * Path placeholders of the route, query values (GET) and body fields (POST) are the fields of `input`.
 */
export interface Operation<I extends TObject = TObject, O extends TObject = TObject> extends Callable<I, O> {
  /** Method and path, for HTTP. */
  readonly route: `${'GET' | 'POST'} /api/${string}`
  readonly summary: string
  /** Codes it answers with, beyond those that any request can get. */
  readonly errors: readonly ErrorCode[]
  /** A call and its answer, for the documentation; a test checks both against the schemas. */
  readonly example: { input: JsonObject, output: JsonObject }
}

/** Declares an operation; its handler is typed by its schemas. */
export function operation<I extends TObject, O extends TObject> (definition: Operation<I, O>): Operation<I, O> {
  return definition
}
