import type { Static, TObject } from 'typebox'
import type { ErrorCode } from '../lib/errors.ts'
import type { AccessScope } from './access.ts'
import type { Call } from './call.ts'
import type { JsonObject } from './schemas.ts'
import type { Services } from './services.ts'

/** A callable of the gateway: a schema of its input, an effect (which decides the rights it needs) and a handler. */
export interface Callable<I extends TObject = TObject, O extends TObject = TObject> {
  /** The name, in snake case. Names of CLI commands and OpenAPI operation ids are derived from it. */
  readonly name: string
  /** A `read` operation changes nothing, and a caller may repeat it. */
  readonly effect: 'read' | 'write'
  /** The scope that its callers need; by default `read` or `execute`, by the effect. */
  readonly scope?: AccessScope
  readonly description: string
  readonly input: I
  readonly output: O
  /**
   * Corrects small mistakes in the input before the input is checked. Without this function the input is checked as the
   * caller sent it.
   * @throws SkilletError
   */
  correct? (services: Services, given: JsonObject): JsonObject
  handler (services: Services, input: Static<I>, call: Call): Static<O> | Promise<Static<O>>
}

/**
 * A complete operation. Every transport is derived from the table of operations. The placeholders in the path of the
 * route, the query values (GET) and the body fields (POST) are the fields of `input`.
 */
export interface Operation<I extends TObject = TObject, O extends TObject = TObject> extends Callable<I, O> {
  /** Method and path, for HTTP. */
  readonly route: `${'GET' | 'POST'} /api/${string}`
  readonly summary: string
  /** Error codes of this operation, beside the error codes that any request can get. */
  readonly errors: readonly ErrorCode[]
  /**
   * The id of the execution of an answer that comes before its end; undefined for the end. Where an operation has this
   * function, its input has the fields of `RunOptions`.
   */
  unfinished? (output: Static<O>): string | undefined
  /** A call and its answer, for the documentation; a test checks both against the schemas. */
  readonly example: { input: JsonObject, output: JsonObject }
}

/** Declares an operation; the types of its handler come from its schemas. */
export function operation<I extends TObject, O extends TObject> (definition: Operation<I, O>): Operation<I, O> {
  return definition
}
