import { Unanswered, type Question, type QuestionHandler } from '../contracts/ask.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { messageOf } from '../lib/errors.ts'
import type { Redactor } from '../secrets/redact.ts'

/** The number of questions of an execution, and the size of a question and of an answer, in bytes of JSON. */
const askMax = { questions: 64, bytes: 1_048_576 }
/** How long an answer may take, in milliseconds: a person reads the question first. */
const answer_ms = 300_000

/** The questions of one execution to its caller, bounded in number, size and time, and without secrets. */
export class Asking {
  readonly #handler: QuestionHandler | undefined
  readonly #redactor: Redactor | undefined
  #asked = 0

  constructor (handler: QuestionHandler | undefined, redactor: Redactor | undefined) {
    this.#handler = handler
    this.#redactor = redactor
  }

  /** @throws Unanswered; the signal's reason */
  async ask (question: Question, signal: AbortSignal): Promise<JsonObject> {
    const handler = this.#handler
    if (handler?.answers.has(question.kind) !== true) throw new Unanswered(cannot[question.kind])
    if (++this.#asked > askMax.questions) throw new Unanswered(`a call may ask ${askMax.questions} times at most`)
    checkSize(question, 'question')
    const limit = AbortSignal.timeout(answer_ms)
    try {
      const answer = await handler.ask(this.#clean(question), AbortSignal.any([signal, limit]))
      checkSize(answer, 'answer')
      return answer
    } catch (error) {
      if (signal.aborted || error instanceof Unanswered) throw error
      throw new Unanswered(
        limit.aborted ? `nobody answered within ${answer_ms / 1000} s` : messageOf(error), { cause: error }
      )
    }
  }

  /** The question is sent to the caller, who may not see the secrets of the skill. */
  #clean (question: Question): Question {
    const redactor = this.#redactor
    if (redactor === undefined) return question
    switch (question.kind) {
      case 'form': {
        const { kind, message, schema } = question
        return { kind, message: redactor.text(message), schema: redactor.data(schema) }
      }
      case 'link': {
        const { kind, message, url } = question
        return { kind, message: redactor.text(message), url: redactor.text(url) }
      }
      case 'model': return { kind: question.kind, request: redactor.data(question.request) }
      case 'roots': return question
    }
  }
}

const cannot: Readonly<Record<Question['kind'], string>> = {
  form: 'the caller of this tool can\'t be asked to fill in a form',
  link: 'the caller of this tool can\'t be asked to open a page',
  model: 'the caller of this tool has no model to ask',
  roots: 'the caller of this tool names no folders'
}

function checkSize (value: object, what: string): void {
  if (Buffer.byteLength(JSON.stringify(value)) > askMax.bytes) {
    throw new Unanswered(`the ${what} is larger than ${askMax.bytes} bytes`)
  }
}
