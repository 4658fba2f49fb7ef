import { Worker } from 'node:worker_threads'
import { messageOf, type Logger } from '../../kernel/index.ts'
import type { DescriberData, Reply, Request } from './protocol.ts'

/** What reading manifests and building modules takes by itself, where a loader's hooks run in the thread too. */
const own_mib = 64

export interface DescriberOptions extends DescriberData {
  /** How long one request may take. */
  limit_ms: number
  /** JavaScript heap that modules may use, in bytes; the thread has its own beside it. */
  heap_bytes_max: number
  log: Logger
}

/** The thread did not answer: it hung, ended, ran out of memory, or something in it threw where nobody caught it. */
export class DescriberFault extends Error {
  /** Whether code of an earlier skill ran in the same thread and may be what is at fault. */
  readonly suspect: boolean

  constructor (message: string, suspect: boolean) {
    super(message)
    this.suspect = suspect
  }
}

/** How long the thread may take to start, on a machine that is busy with other things. */
const start_ms = 60_000

/**
 * Describes skills in a thread of its own, which is started when something is asked and replaced when it fails. One request
 * at a time.
 */
export class Describer {
  readonly #options: DescriberOptions
  #thread: Thread | undefined

  constructor (options: DescriberOptions) {
    this.#options = options
  }

  /** Starts the thread, for what will be asked. */
  start (): void {
    this.#thread ??= new Thread(this.#options)
  }

  /** Whether a thread is there. */
  get started (): boolean {
    return this.#thread !== undefined
  }

  /** @throws DescriberFault when there is no answer; the next request gets a new thread. Or the signal's reason. */
  async ask (request: Request, signal: AbortSignal): Promise<Reply> {
    signal.throwIfAborted()
    const thread = this.#thread ??= new Thread(this.#options)
    const abort = (): void => { void thread.end('it was aborted') }
    signal.addEventListener('abort', abort, { once: true })
    try {
      await thread.next(start_ms, true)
      const reply = thread.next(this.#options.limit_ms)
      thread.post(request)
      const answered = await reply
      if (answered.type === 'described' && answered.descriptions.some(({ ran_code }) => ran_code)) thread.ranCode = true
      return answered
    } catch (error) {
      this.#thread = undefined
      await thread.end('it failed')
      signal.throwIfAborted()
      throw new DescriberFault(messageOf(error), thread.ranCode)
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Ends the thread, whatever it is doing. */
  async end (): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.end('it was ended')
  }
}

/** One worker thread and the reply that is being waited for. */
class Thread {
  readonly #worker: Worker
  #waiting: { resolve: (reply: Reply) => void, reject: (error: Error) => void } | undefined
  #ended: Error | undefined
  #ready = false
  /** Whether code of a skill ran in it. */
  ranCode = false

  constructor ({ cache_dir, skill_module, heap_bytes_max, log }: DescriberOptions) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: { cache_dir, skill_module } satisfies DescriberData,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heap_bytes_max / 1_048_576) + own_mib, maxYoungGenerationSizeMb: 32 },
      env: environment(),
      execArgv: [], // flags of the program (a debugger, say) are not for this thread
      stdin: false,
      // What a module prints must not get among what the program prints.
      stdout: true,
      stderr: true
    })
    for (const stream of [this.#worker.stdout, this.#worker.stderr]) {
      stream.on('data', (chunk: Buffer) => { log.debug({ text: chunk.toString('utf8', 0, 2000) }, 'a skill printed something while it was described') })
    }
    this.#worker.on('message', (reply: Reply) => {
      if (reply.type === 'ready') this.#ready = true
      this.#waiting?.resolve(reply)
    })
    this.#worker.on('error', (error: unknown) => { this.#fail(isOutOfMemory(error) ? 'its module used up the memory it may have' : `its module threw where nothing caught it: ${messageOf(error).split('\n', 1)[0]}`) })
    this.#worker.on('exit', code => { this.#fail(`its module ended the thread it was described in, with code ${code}`) })
  }

  post (request: Request): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(request)
  }

  /** The next reply, within so many milliseconds. With `start`, the thread's first one, however long ago it came. */
  next (limit_ms: number, start = false): Promise<Reply> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    if (start && this.#ready) return Promise.resolve({ type: 'ready' })
    return new Promise<Reply>((resolve, reject) => {
      // After a main thread that was busy itself, a reply may lie waiting behind the timer: it is let in first.
      const timer = setTimeout(() => { setImmediate(() => { this.#fail(`it took longer than ${limit_ms / 1000} s to read`) }) }, limit_ms)
      const settle = (): void => {
        clearTimeout(timer)
        this.#waiting = undefined
      }
      this.#waiting = {
        resolve: reply => { settle(); resolve(reply) },
        reject: error => { settle(); reject(error) }
      }
    })
  }

  async end (why: string): Promise<void> {
    this.#fail(why)
    await this.#worker.terminate()
  }

  #fail (message: string): void {
    this.#ended ??= new Error(message)
    this.#waiting?.reject(this.#ended)
  }
}

function isOutOfMemory (error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/** The program's environment without its own secrets and settings. */
function environment (): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'SERVICE_API_KEY' && !name.startsWith('SKILLET_')))
}
