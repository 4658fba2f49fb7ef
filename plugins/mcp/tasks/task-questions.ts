import type { JsonObject, Question, QuestionHandler } from '../../../kernel/index.ts'
import { isObject } from '../../../kernel/index.ts'
import { requestOf, type ClientRequest } from '../server/questions.ts'

interface Asked { request: ClientRequest, answer: (value: JsonObject) => void }

/** The questions of a tool that runs as a task: its client reads them with the task, and answers when it likes. */
export class TaskQuestions implements QuestionHandler {
  readonly answers: ReadonlySet<Question['kind']>
  readonly #asked = new Map<string, Asked>()
  readonly #listeners = new Set<() => void>()
  #questions = 0

  /** @param answers the kinds of questions that the client can answer */
  constructor (answers: ReadonlySet<Question['kind']>) {
    this.answers = answers
  }

  async ask (question: Question, signal: AbortSignal): Promise<JsonObject> {
    const request = requestOf(question)
    if (signal.aborted) throw signal.reason as Error
    // No key is used twice in a task.
    const key = `question-${++this.#questions}`
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', abort)
        this.#asked.delete(key)
        for (const listener of this.#listeners) listener()
      }
      const abort = (): void => {
        leave()
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#asked.set(key, { request, answer: value => {
        leave()
        resolve(value)
      } })
      for (const listener of this.#listeners) listener()
    })
  }

  /** The questions that have no answer yet, by their keys; undefined when there are none. */
  get open (): Record<string, ClientRequest> | undefined {
    if (this.#asked.size === 0) return undefined
    return Object.fromEntries([...this.#asked].map(([key, { request }]) => [key, request]))
  }

  /** Gives the tool the answers of a client, by the keys of the questions. All others are ignored. */
  answer (responses: JsonObject): void {
    for (const [key, value] of Object.entries(responses)) if (isObject(value)) this.#asked.get(key)?.answer(value)
  }

  /** Calls a function when the tool asks, and when a question is no longer open. @returns ends this */
  onChange (listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }
}
