import type { Worker } from 'node:worker_threads'
import type { Cache, Logger } from '../../../kernel/index.ts'
import { CachedVectors } from './cached-vectors.ts'
import { readFromThread } from './incoming.ts'
import { finishThread, postTo, startThread } from './model-thread.ts'
import type { FromThread, QueryMessage, ThreadData, ToThread } from './protocol.ts'
import { Questions, type Question } from './questions.ts'

export interface EmbedderOptions extends ThreadData {
  cache: Cache
  log: Logger
  /** The module that runs in the thread; tests use a module that fails. */
  thread?: URL
  /** The time that a query waits, in milliseconds; default 5,000. A thread that hangs for 12 times as long is ended. */
  answer_ms?: number
  /** The time until a model that failed is tried again, in milliseconds; doubled each time, up to 64 times. */
  again_ms?: number
  /** Called when the state has changed, or more tools are embedded. */
  onChange (): void
}

/**
 * `idle`: not used yet; `loading`: the model is loaded; `indexing`: tools are being embedded; `ready`; `failed`: it
 * can't be used, and is tried again after a time.
 */
export type EmbedderState = 'idle' | 'loading' | 'indexing' | 'ready' | 'failed'

/** The default time that a query waits for the thread, in milliseconds. */
const answerDefault_ms = 5_000
/** The number of deaths after which the thread is not started again, and the time after which a death is forgotten. */
const deathsMax = 3
const forget_ms = 600_000
/** The wait before a thread that died is started again, in milliseconds; doubled each time. */
const restart_ms = 500
/** The default time until a model that failed is tried again, in milliseconds, and how often it doubles. */
const again = { ms: 10_000, doublings: 6 }
/** The time between two logs of the progress, in milliseconds. */
const log_ms = 10_000

/**
 * The main thread's side of the model. The model's thread starts when it is first needed. A thread that dies is started
 * again at once a few times, and a model that can't be used after a longer time: what it lacked, such as memory or
 * files, may be there then. In both cases no promise rejects: queries are answered without the model.
 */
export class Embedder {
  readonly #options: EmbedderOptions
  readonly #questions: Questions
  readonly #vectors: CachedVectors
  #worker: Worker | undefined
  #state: EmbedderState = 'idle'
  /** The reason why the model does not work, or works only in part. */
  #reason: string | undefined
  #texts: readonly string[] = []
  /** The largest number of tools so far, since an answer may be about an earlier set of tools. */
  #toolsMost = 0
  #generation = 0
  #indexed = 0
  #deaths: number[] = []
  /** How often the model failed since it last worked. */
  #failures = 0
  #restart: NodeJS.Timeout | undefined
  #closed = false
  #logged_ms = 0
  #changed: (() => void)[] = []

  constructor (options: EmbedderOptions) {
    this.#options = options
    this.#vectors = new CachedVectors(options.cache, options.log)
    this.#questions = new Questions({
      answer_ms: options.answer_ms ?? answerDefault_ms,
      post: message => { this.#post(message) },
      hangs: silent_ms => { this.#replace(`it did not say anything for ${silent_ms / 1000} s`) }
    })
  }

  get state (): EmbedderState {
    return this.#state
  }

  get reason (): string | undefined {
    return this.#reason
  }

  get indexed (): number {
    return this.#indexed
  }

  /** Starts the thread, unless it runs, waits for a restart, or has failed. */
  start (): void {
    if (this.#worker !== undefined || this.#restart !== undefined || this.#closed) return
    this.#become('loading')
    const entry = this.#options.thread ?? new URL('./thread.js', import.meta.url)
    this.#worker = startThread(entry, this.#options, this.#options.log, {
      said: (worker, message) => { if (worker === this.#worker) this.#hear(message) },
      ended: (worker, cause) => { if (worker === this.#worker) this.#die(cause) }
    })
    this.#post({ type: 'index', generation: this.#generation, texts: this.#texts })
  }

  /** Replaces the tools. @param texts the text of each tool for the embedding */
  index (texts: readonly string[]): void {
    this.#texts = texts
    this.#toolsMost = Math.max(this.#toolsMost, texts.length)
    this.#indexed = 0
    if (this.#state === 'ready') this.#become('indexing')
    this.#post({ type: 'index', generation: ++this.#generation, texts })
  }

  /** Begins to embed a query; undefined when it is not possible now. The question must be closed. */
  ask (query: Pick<QueryMessage, 'text' | 'nearest' | 'among'>): Question | undefined {
    if (this.#state !== 'ready' && this.#state !== 'indexing' || this.#questions.full) return undefined
    return this.#questions.ask(query, this.#generation)
  }

  /** Resolves when all tools are embedded or the model has failed, after the time limit, or when the signal aborts. */
  async settled (limit_ms: number, signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, AbortSignal.timeout(limit_ms)])
    while ((this.#state === 'loading' || this.#state === 'indexing') && !end.aborted) {
      await new Promise<void>(resolve => {
        const go = (): void => {
          end.removeEventListener('abort', go)
          resolve()
        }
        this.#changed.push(go)
        end.addEventListener('abort', go, { once: true })
      })
    }
  }

  /** Ends the thread, even while it works. */
  async close (): Promise<void> {
    this.#closed = true
    clearTimeout(this.#restart)
    this.#questions.stopWatching()
    const worker = this.#worker
    this.#worker = undefined
    this.#questions.settleAll()
    if (worker !== undefined) await finishThread(worker)
  }

  #post (message: ToThread): void {
    if (this.#worker !== undefined) postTo(this.#worker, message)
  }

  #hear (value: unknown): void {
    const message = readFromThread(value, this.#toolsMost)
    if (message === undefined) return this.#replace('it said what makes no sense')
    this.#questions.stopWatching()
    switch (message.type) {
      case 'ready':
        this.#reason = undefined
        this.#failures = 0
        this.#loaded(message)
        return this.#become('indexing')
      case 'failed':
        return this.#fail(message.reason)
      case 'progress':
        if (message.generation === this.#generation) this.#progress(message.indexed, message.total)
        return
      case 'read':
        void this.#read(message.id, message.keys)
        return
      case 'write':
        void this.#vectors.keep(message.entries)
        return
      case 'found':
        this.#questions.settle(message.id, message.found)
        return
      case 'error':
        this.#options.log.warn({ error: message.reason }, 'a query could not be embedded')
        this.#questions.settle(message.id, undefined)
    }
  }

  /** Logs a slower runtime or search; health does not report it, since the results are the same. */
  #loaded ({ model, dimensions, runtime, slower, exact }: Extract<FromThread, { type: 'ready' }>): void {
    const reasons = { ...(slower !== undefined && { slower }), ...(exact !== undefined && { exact }) }
    this.#options.log.info({ model, dimensions, runtime, ...reasons }, 'the model is loaded')
  }

  #progress (indexed: number, total: number): void {
    this.#indexed = indexed
    if (indexed === total) this.#become('ready')
    else {
      const now_ms = performance.now()
      if (now_ms - this.#logged_ms >= log_ms) {
        this.#logged_ms = now_ms
        this.#options.log.info({ indexed, total }, 'tools are being embedded')
      }
      this.#notify()
    }
  }

  async #read (id: number, keys: readonly string[]): Promise<void> {
    this.#post({ type: 'cached', id, values: await this.#vectors.read(keys) })
  }

  /** Ends the thread, so that a new one is started. */
  #replace (cause: string): void {
    const worker = this.#worker
    if (worker === undefined) return
    this.#die(cause)
    void finishThread(worker)
  }

  #die (cause: string): void {
    this.#worker = undefined
    this.#indexed = 0
    const now_ms = performance.now()
    this.#deaths = [...this.#deaths.filter(at_ms => now_ms - at_ms < forget_ms), now_ms]
    if (this.#closed || this.#state === 'failed') return
    this.#options.log.error({ cause, deaths: this.#deaths.length }, 'the model\'s thread died')
    if (this.#deaths.length >= deathsMax) return this.#fail(`its thread died ${deathsMax} times, last because ${cause}`)
    this.#startAfter(restart_ms * 2 ** (this.#deaths.length - 1))
    this.#reason = `the model's thread died: ${cause}; it is started again`
    this.#become('loading')
    this.#questions.settleAll()
  }

  #startAfter (ms: number): void {
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.start()
    }, ms).unref()
  }

  #fail (cause: string): void {
    const { again_ms = again.ms, log } = this.#options
    const reason = `tools are found by words alone, since the model can't be used: ${cause}`
    if (reason !== this.#reason) log.warn({ cause }, 'the model can\'t be used; tools are found by words alone')
    this.#reason = reason
    this.#startAfter(again_ms * 2 ** Math.min(this.#failures++, again.doublings))
    const worker = this.#worker
    this.#worker = undefined
    this.#indexed = 0
    this.#become('failed')
    this.#questions.settleAll()
    if (worker !== undefined) void finishThread(worker)
  }

  #become (state: EmbedderState): void {
    this.#state = state
    this.#notify()
  }

  #notify (): void {
    this.#options.onChange()
    for (const go of this.#changed.splice(0)) go()
  }
}
