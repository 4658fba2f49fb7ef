import { Worker } from 'node:worker_threads'
import { cacheLimits, messageOf, within, type Cache, type Logger } from '../../../kernel/index.ts'
import { readFromThread } from './incoming.ts'
import type { Found, FromThread, QueryMessage, ThreadData, ToThread } from './protocol.ts'

export interface EmbedderOptions extends ThreadData {
  cache: Cache
  log: Logger
  /** The thread's entry; tests give one that fails. */
  thread?: URL
  /** How long a query waits for the thread, in milliseconds; 5 s by default. One that hangs for 12 times as long is ended. */
  answer_ms?: number
  /** It is in another state, or has embedded more. */
  onChange (): void
}

/**
 * `idle`: nothing has asked for it yet; `loading` the model; `indexing`: tools are still to be embedded; `ready`;
 * `failed`, for good.
 */
export type EmbedderState = 'idle' | 'loading' | 'indexing' | 'ready' | 'failed'

/** How long a query waits for the thread; then it is answered by words. */
const answerDefault_ms = 5_000
/** A thread that has not said anything for so many of these, while a query waited, hangs. */
const hang_answers = 12
/** How long a thread may take to end by itself. */
const end_ms = 5_000
/** Queries that may wait for the thread; those beyond are answered without it. */
const queriesMax = 256
/** How often the thread may die before it is given up, and the time after which a death is forgotten. */
const deathsMax = 3
const forget_ms = 600_000
/** How long to wait before a thread that died is started again; doubled each time. */
const restart_ms = 500
/** How often progress is logged. */
const log_ms = 10_000

interface Waiting {
  resolve (found: Found | undefined): void
  timer: NodeJS.Timeout
}

/** A query that is being embedded. */
export interface Question {
  /**
   * Says what else it is to be compared with; undefined when it can't be answered now. To be called once.
   * @throws the signal's reason
   */
  compare (also: Uint32Array, signal: AbortSignal): Promise<Found | undefined>
  /** Gives it up, where it is not answered yet. */
  close (): void
}

/**
 * The model, in a thread of its own that starts when it is first needed. A thread that dies is started again, a few times;
 * a model that can't be loaded is not tried again. Nothing here rejects for either: queries are then answered without it.
 */
export class Embedder {
  readonly #options: EmbedderOptions
  readonly #answer_ms: number
  #worker: Worker | undefined
  #state: EmbedderState = 'idle'
  /** Why it is not well, or not wholly. */
  #reason: string | undefined
  #texts: readonly string[] = []
  /** How many tools there were at most: an answer may be about those that were there when it was asked for. */
  #toolsMost = 0
  #generation = 0
  #indexed = 0
  #queries = 0
  readonly #waiting = new Map<number, Waiting>()
  #deaths: number[] = []
  #restart: NodeJS.Timeout | undefined
  /** Runs while the thread is suspected to hang. */
  #watch: NodeJS.Timeout | undefined
  #closed = false
  #logged_ms = 0
  #changed: (() => void)[] = []

  constructor (options: EmbedderOptions) {
    this.#options = options
    this.#answer_ms = options.answer_ms ?? answerDefault_ms
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

  /** Starts the thread, unless it runs, waits to run again, or is given up. */
  start (): void {
    if (this.#worker !== undefined || this.#restart !== undefined || this.#state === 'failed' || this.#closed) return
    this.#become('loading')
    const { model, models_dir, allow_download, threads } = this.#options
    const worker = this.#worker = new Worker(this.#options.thread ?? new URL('./thread.js', import.meta.url), {
      workerData: { model, models_dir, allow_download, threads } satisfies ThreadData,
      env: environment(),
      execArgv: [], // flags of the program (a debugger, say) are not for this thread
      stdout: true, // what libraries print must not get among what the program prints
      stderr: true
    })
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.on('data', (chunk: Buffer) => { this.#options.log.debug({ text: chunk.toString('utf8', 0, 2000) }, 'the model\'s thread printed something') })
    }
    let cause: string | undefined
    worker.on('message', message => { if (worker === this.#worker) this.#hear(worker, message) })
    worker.on('error', (error: unknown) => { cause = messageOf(error) })
    worker.on('exit', code => { if (worker === this.#worker) this.#die(cause ?? `it ended with code ${code}`) })
    this.#post({ type: 'index', generation: this.#generation, texts: this.#texts })
  }

  /** Replaces the tools, by what is embedded of each. */
  index (texts: readonly string[]): void {
    this.#texts = texts
    this.#toolsMost = Math.max(this.#toolsMost, texts.length)
    this.#indexed = 0
    if (this.#state === 'ready') this.#become('indexing')
    this.#post({ type: 'index', generation: ++this.#generation, texts })
  }

  /** Begins to embed a query; undefined when that can't be done now. To be closed. */
  ask (query: Pick<QueryMessage, 'text' | 'nearest' | 'among'>): Question | undefined {
    if (this.#state !== 'ready' && this.#state !== 'indexing' || this.#waiting.size >= queriesMax) return undefined
    const id = ++this.#queries
    const found = new Promise<Found | undefined>(resolve => {
      this.#waiting.set(id, { resolve, timer: setTimeout(() => { setImmediate(() => { this.#late(id) }) }, this.#answer_ms) })
    })
    this.#post({ type: 'query', id, generation: this.#generation, ...query })
    return {
      compare: async (tools, signal) => {
        let abort = (): void => {}
        const aborted = new Promise<never>((_, reject) => { abort = () => { reject(signal.reason as Error) } })
        signal.addEventListener('abort', abort, { once: true })
        try {
          this.#post({ type: 'also', id, tools })
          return await Promise.race([found, aborted])
        } finally {
          signal.removeEventListener('abort', abort)
        }
      },
      close: () => {
        if (this.#settle(id, undefined)) this.#post({ type: 'forget', id })
      }
    }
  }

  /** Resolves when all tools are embedded or never will be, after so long, or when the signal aborts. */
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

  /** Ends the thread, whatever it does. */
  async close (): Promise<void> {
    this.#closed = true
    clearTimeout(this.#restart)
    clearTimeout(this.#watch)
    const worker = this.#worker
    this.#worker = undefined
    this.#giveUpWaiting()
    if (worker !== undefined) await end(worker)
  }

  #post (message: ToThread): void {
    this.#worker?.postMessage(message) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has no origin
  }

  #hear (worker: Worker, value: unknown): void {
    const message = readFromThread(value, this.#toolsMost)
    if (message === undefined) {
      this.#die('it said what makes no sense')
      void end(worker)
      return
    }
    clearTimeout(this.#watch)
    this.#watch = undefined
    switch (message.type) {
      case 'ready':
        this.#reason = undefined
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
        this.#options.cache.write(message.entries).catch((error: unknown) => { this.#options.log.warn({ error: messageOf(error) }, 'vectors could not be kept; they will be made again') })
        return
      case 'found':
        this.#settle(message.id, message.found)
        return
      case 'error':
        this.#options.log.warn({ error: message.reason }, 'a query could not be embedded')
        this.#settle(message.id, undefined)
    }
  }

  /** Slower ways find the same: the log tells of them, and health does not. */
  #loaded ({ model, dimensions, runtime, slower, exact }: Extract<FromThread, { type: 'ready' }>): void {
    this.#options.log.info({ model, dimensions, runtime, ...(slower !== undefined && { slower }), ...(exact !== undefined && { exact }) }, 'the model is loaded')
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
    let values: (Uint8Array | undefined)[] = []
    try {
      values = await this.#options.cache.read(keys.slice(0, cacheLimits.keys))
    } catch (error) {
      this.#options.log.warn({ error: messageOf(error) }, 'kept vectors could not be read; they are made again')
    }
    this.#post({ type: 'cached', id, values })
  }

  /** @returns false when nobody waits any more */
  #settle (id: number, found: Found | undefined): boolean {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return false
    this.#waiting.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(found)
    return true
  }

  #giveUpWaiting (): void {
    for (const id of this.#waiting.keys()) this.#settle(id, undefined)
  }

  /** Answers a query that waited for too long; the first of them begins to watch the thread. */
  #late (id: number): void {
    if (!this.#settle(id, undefined)) return
    this.#post({ type: 'forget', id })
    this.#watch ??= setTimeout(() => {
      this.#watch = undefined
      const worker = this.#worker
      if (worker === undefined) return
      this.#die(`it did not say anything for ${hang_answers * this.#answer_ms / 1000} s`)
      void end(worker)
    }, (hang_answers - 1) * this.#answer_ms).unref()
  }

  #die (cause: string): void {
    this.#worker = undefined
    this.#indexed = 0
    const now_ms = performance.now()
    this.#deaths = [...this.#deaths.filter(at_ms => now_ms - at_ms < forget_ms), now_ms]
    if (this.#closed || this.#state === 'failed') return
    this.#options.log.error({ cause, deaths: this.#deaths.length }, 'the model\'s thread died')
    if (this.#deaths.length >= deathsMax) return this.#fail(`its thread died ${deathsMax} times, last because ${cause}`)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.start()
    }, restart_ms * 2 ** (this.#deaths.length - 1)).unref()
    this.#reason = `the model's thread died: ${cause}; it is started again`
    this.#become('loading')
    this.#giveUpWaiting()
  }

  #fail (cause: string): void {
    this.#reason = `tools are found by words alone, since the model can't be used: ${cause}`
    this.#options.log.warn({ cause }, 'the model can\'t be used; tools are found by words alone')
    const worker = this.#worker
    this.#worker = undefined
    this.#indexed = 0
    this.#become('failed')
    this.#giveUpWaiting()
    if (worker !== undefined) void end(worker)
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

/** Ends a thread when it has done what it does, or where that takes too long whatever it does. */
async function end (worker: Worker): Promise<void> {
  const ended = new Promise<void>(resolve => { worker.once('exit', () => { resolve() }) })
  worker.postMessage({ type: 'end' } satisfies ToThread) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has no origin
  await within(end_ms, ended)
  await worker.terminate() // nothing happens to one that has ended
}

/** The program's environment without its own secrets and settings. */
function environment (): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'SERVICE_API_KEY' && !name.startsWith('SKILLET_')))
}
