import type { JsonObject } from './schemas.ts'

/** A question that a running tool asks of its caller. */
export type Question =
  /**
   * Asks the user to fill in a form. `schema` is a JSON Schema of an object whose properties are strings, numbers,
   * booleans or choices. The answer is `{ action: 'accept', content }`, `{ action: 'decline' }` or
   * `{ action: 'cancel' }`.
   */
  | { kind: 'form', message: string, schema: JsonObject }
  /** Asks the user to open a web page. The answer has an `action`, as that of a form. */
  | { kind: 'link', message: string, url: string }
  /** Asks the model of the caller. The request and the answer are those of `sampling/createMessage` in MCP. */
  | { kind: 'model', request: JsonObject }
  /** Asks for the folders that the caller works in. The answer is `{ roots: [{ uri, name? }] }`. */
  | { kind: 'roots' }

/** Answers the questions that tools ask of their caller. */
export interface QuestionHandler {
  /** The kinds of questions that it can answer. */
  readonly answers: ReadonlySet<Question['kind']>
  /**
   * Asks, and waits for the answer.
   * @throws Error in one line when there is no answer; the signal's reason when that aborts
   */
  ask (question: Question, signal: AbortSignal): Promise<JsonObject>
}

/** Why a tool got no answer, in one line that the tool may see. */
export class Unanswered extends Error {}
