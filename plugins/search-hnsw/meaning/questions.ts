import { abortable } from '../../../kernel/index.ts'
import type { Found, QueryMessage, ToThread } from './protocol.ts'

/** A thread hangs when it sends nothing for this many times the waiting time of a query, while a query waits. */
const hang_answers = 12
/** The maximum number of queries that wait for the thread; further queries are answered without it. */
const queriesMax = 256

/** A query that is being embedded. */
export interface Question {
  /**
   * Sends the additional tools that the query must be compared with, and waits for the answer; undefined when there is
   * no answer in time. Must be called once.
   * @throws the signal's reason
   */
  compare (also: Uint32Array, signal: AbortSignal): Promise<Found | undefined>
  /** Cancels the query if it is not answered yet. */
  close (): void
}

interface Waiting {
  resolve (found: Found | undefined): void
  timer: NodeJS.Timeout
}

export interface QuestionsOptions {
  /** The time that a query waits for the thread, in milliseconds; after it, the query is answered by words. */
  answer_ms: number
  /** Sends a message to the thread. */
  post (message: ToThread): void
  /** Called when the thread hangs: while a query waited, it sent nothing for this time, in milliseconds. */
  hangs (silent_ms: number): void
}

/** The queries that wait for the model's thread, and the time that each of them waits. */
export class Questions {
  readonly #options: QuestionsOptions
  readonly #waiting = new Map<number, Waiting>()
  #count = 0
  /** Runs while the thread may hang. */
  #watch: NodeJS.Timeout | undefined

  constructor (options: QuestionsOptions) {
    this.#options = options
  }

  /** Whether the maximum number of queries wait. */
  get full (): boolean {
    return this.#waiting.size >= queriesMax
  }

  /** Begins to embed a query about the tools of a generation. The question must be closed. */
  ask (query: Pick<QueryMessage, 'text' | 'nearest' | 'among'>, generation: number): Question {
    const { post, answer_ms } = this.#options
    const id = ++this.#count
    const answer = new Promise<Found | undefined>(resolve => {
      const timer = setTimeout(() => { setImmediate(() => { this.#late(id) }) }, answer_ms)
      this.#waiting.set(id, { resolve, timer })
    })
    post({ type: 'query', id, generation, ...query })
    return {
      compare: async (tools, signal) => {
        post({ type: 'also', id, tools })
        return await abortable(answer, signal)
      },
      close: () => {
        if (this.settle(id, undefined)) post({ type: 'forget', id })
      }
    }
  }

  /** Answers a query. @returns false when no caller waits for it any more */
  settle (id: number, found: Found | undefined): boolean {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return false
    this.#waiting.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(found)
    return true
  }

  /** Answers all queries without the thread. */
  settleAll (): void {
    for (const id of this.#waiting.keys()) this.settle(id, undefined)
  }

  /** Ends the watch: the thread has sent a message, or will be ended. */
  stopWatching (): void {
    clearTimeout(this.#watch)
    this.#watch = undefined
  }

  /** Answers a query that has waited for too long; the first such query begins to watch the thread. */
  #late (id: number): void {
    if (!this.settle(id, undefined)) return
    const { post, answer_ms, hangs } = this.#options
    post({ type: 'forget', id })
    this.#watch ??= setTimeout(() => {
      this.#watch = undefined
      hangs(hang_answers * answer_ms)
    }, (hang_answers - 1) * answer_ms).unref()
  }
}
