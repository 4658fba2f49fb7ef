import { randomUUID } from 'node:crypto'
import { isObject, Unanswered, type JsonObject, type Question, type QuestionHandler } from '../../../kernel/index.ts'
import { requestOf, type ClientRequest } from './questions.ts'

/** The calls that may wait for answers of clients at once. */
const waitingMax = 256
/** How long the result of a call is kept for a client that does not come back, in milliseconds. */
const kept_ms = 60_000

interface Asked { key: string, request: ClientRequest, answer (value: JsonObject): void }

/** The state of a call at the end of a round: it has its result, or it asks, by a key that no other question has. */
export type Round<R> = { result: R } | { key: string, question: ClientRequest }

/**
 * A call whose client takes no requests, as since 2026: the answer to its request is a question, and the client sends
 * the request again with the answer. The execution runs on between these rounds.
 */
export class Conversation<R> implements QuestionHandler {
  readonly id = randomUUID()
  readonly answers: ReadonlySet<Question['kind']>
  readonly #abort = new AbortController()
  /** The questions of the tool that have no answer; the client sees one after the other. */
  readonly #asked: Asked[] = []
  readonly #mayWait: () => boolean
  #questions = 0
  #execution_id: string | undefined
  #listener: ((id: string) => void) | undefined
  #result: Promise<R> | undefined
  #ended = false
  #changed: (() => void) | undefined

  /** @param mayWait whether another call may wait for an answer */
  constructor (answers: ReadonlySet<Question['kind']>, mayWait: () => boolean) {
    this.answers = answers
    this.#mayWait = mayWait
  }

  /** Aborts when the client leaves during a round. */
  get signal (): AbortSignal {
    return this.#abort.signal
  }

  /** Resolves when the call has its result, or failed. */
  async whenEnded (): Promise<void> {
    await this.#result?.catch(() => {})
  }

  /** Tells the id of the execution, once it exists. @returns a function that ends this */
  onExecution (listener: (id: string) => void): () => void {
    this.#listener = listener
    if (this.#execution_id !== undefined) listener(this.#execution_id)
    return () => { this.#listener = undefined }
  }

  /** The execution of the call exists. */
  follow (id: string): void {
    this.#execution_id = id
    this.#listener?.(id)
  }

  /** Sets the result of the call. */
  begin (result: Promise<R>): void {
    const ended = (): void => {
      this.#ended = true
      this.#changed?.()
    }
    this.#result = result
    result.then(ended, ended)
  }

  async ask (question: Question, signal: AbortSignal): Promise<JsonObject> {
    const request = requestOf(question)
    if (!this.#mayWait()) throw new Unanswered('too many calls wait for answers')
    return await new Promise((resolve, reject) => {
      const asked: Asked = { key: `question-${++this.#questions}`, request, answer: value => {
        signal.removeEventListener('abort', forget)
        resolve(value)
      } }
      const forget = (): void => {
        this.#asked.splice(this.#asked.indexOf(asked), 1)
        reject(signal.reason as Error)
      }
      if (signal.aborted) return reject(signal.reason as Error)
      signal.addEventListener('abort', forget, { once: true })
      this.#asked.push(asked)
      this.#changed?.()
    })
  }

  /** Gives the tool the answers of a client, by the keys of the questions. */
  answer (responses: JsonObject): void {
    const [asked] = this.#asked
    const value = asked === undefined ? undefined : responses[asked.key]
    if (!isObject(value)) return // the question is asked again
    this.#asked.shift()?.answer(value)
  }

  /** Waits until the call has its result, or asks. @param client aborts when the client leaves */
  async round (client: AbortSignal): Promise<Round<R>> {
    const leave = (): void => { this.#abort.abort(client.reason) }
    if (client.aborted) leave()
    client.addEventListener('abort', leave, { once: true })
    try {
      while (!this.#ended && this.#asked.length === 0) {
        await new Promise<void>(resolve => { this.#changed = resolve })
      }
    } finally {
      client.removeEventListener('abort', leave)
    }
    const [asked] = this.#asked
    if (asked !== undefined && !this.#ended) return { key: asked.key, question: asked.request }
    if (this.#result === undefined) throw new Error('the call was not begun')
    return { result: await this.#result }
  }

  end (reason: Error): void {
    this.#abort.abort(reason)
  }
}

/** The calls that wait for answers of clients. */
export class Conversations<R> {
  readonly #waiting = new Map<string, Conversation<R>>()

  open (answers: ReadonlySet<Question['kind']>): Conversation<R> {
    return new Conversation(answers, () => this.#waiting.size < waitingMax)
  }

  /** Keeps a call until its client comes back, or until some time after its end. */
  keep (conversation: Conversation<R>): void {
    this.#waiting.set(conversation.id, conversation)
    void this.#forgetAfter(conversation)
  }

  async #forgetAfter (conversation: Conversation<R>): Promise<void> {
    await conversation.whenEnded()
    setTimeout(() => { this.#waiting.delete(conversation.id) }, kept_ms).unref()
  }

  /** The call that a client comes back to; undefined when it has ended. */
  take (id: string): Conversation<R> | undefined {
    const conversation = this.#waiting.get(id)
    this.#waiting.delete(id)
    return conversation
  }

  close (): void {
    for (const conversation of this.#waiting.values()) conversation.end(new Error('the server is stopping'))
    this.#waiting.clear()
  }
}
