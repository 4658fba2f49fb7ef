import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import { endThread, letThreadsEnd, messageOf, type Logger } from '../../../kernel/index.ts'
import { environmentForThread } from '../../toolkit/environment.ts'
import { isReady, readReply } from './incoming.ts'
import type { DescriberData, Reply, Request, ThreadData } from '../shared/protocol.ts'

/** The heap for reading manifests and building modules, in MiB; a loader's hooks may run in the thread too. */
const own_mib = 64

export interface DescriberOptions extends DescriberData {
  /** The time limit of one request, in milliseconds. */
  limit_ms: number
  /** The JavaScript heap that modules may use, in bytes; the thread has its own in addition. */
  heap_bytes_max: number
  log: Logger
}

/** The caller's callback for a slow request, and the number of other slow requests. */
export interface Watch { slow (): void, others: number }

/** The thread did not answer: it hung, ended, ran out of memory, or an error in it was not caught. */
export class DescriberFault extends Error {
  /** Whether code of an earlier skill ran in the same thread and may be the cause. */
  readonly suspect: boolean

  constructor (message: string, suspect: boolean) {
    super(message)
    this.suspect = suspect
  }
}

/**
 * A request counts as slow after this multiple of the thread's start time, which shows how busy the machine is; but not
 * below or above these limits.
 */
const slow = { starts: 8, least_ms: 1_000, most_ms: 4_000 } as const
/** The characters of an error, and of a module's printed output, that are passed on; and the number of such outputs. */
const errorMax = 2_000
const printedMax = 20
/** How long the thread may take to start on a busy machine, in milliseconds. */
const start_ms = 60_000

/**
 * Describes skills in a thread of its own, which is started at the first request and replaced when it fails. One
 * request at a time.
 */
export class Describer {
  readonly #options: DescriberOptions
  #thread: Thread | undefined
  #closed = false

  constructor (options: DescriberOptions) {
    letThreadsEnd()
    this.#options = options
  }

  /** Starts the thread, before the first request. */
  start (): void {
    this.#thread ??= new Thread(this.#options)
  }

  /** Whether a thread exists. */
  get started (): boolean {
    return this.#thread !== undefined
  }

  /**
   * @param watch called when the request is slow, with the number of other slow requests: the more there are, the
   * sooner
   * @returns the reply, and whether code of an earlier skill ran in the same thread
   * @throws DescriberFault when there is no answer; the next request gets a new thread
   */
  async ask (request: Request, watch?: Watch): Promise<{ reply: Reply, suspect: boolean }> {
    if (this.#closed) throw new DescriberFault('it was ended', false)
    const thread = this.#thread ??= new Thread(this.#options)
    let timer: NodeJS.Timeout | undefined
    try {
      await thread.started(start_ms)
      if (watch !== undefined) {
        timer = setTimeout(
          watch.slow,
          Math.min(slow.most_ms, Math.max(slow.least_ms, slow.starts * thread.start_ms)) / (1 + watch.others)
        )
      }
      const suspect = thread.ranCode
      const reply = await thread.ask(request, this.#options.limit_ms)
      if (reply.type === 'described' && reply.descriptions.some(({ ran_code }) => ran_code)) thread.ranCode = true
      return { reply, suspect }
    } catch (error) {
      if (this.#thread === thread) this.#thread = undefined
      await thread.end('it failed')
      throw new DescriberFault(messageOf(error), thread.ranCode)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the thread, even while it works, and starts no other. */
  async close (): Promise<void> {
    this.#closed = true
    await this.end()
  }

  /** Ends the thread, even while it works. */
  async end (): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.end('it was ended')
  }
}

/** The message that is awaited: the report of the start, or the reply to a request. */
interface Waiting { request: Request | undefined, resolve (reply: Reply): void, reject (error: Error): void }

/**
 * A worker thread. Modules run in it: so its messages are checked before they are used, and the first invalid message
 * ends the thread.
 */
class Thread {
  readonly #worker: Worker
  readonly #port: MessagePort
  #waiting: Waiting | undefined
  #ended: Error | undefined
  #ready = false
  #printed = 0
  readonly #began_ms = performance.now()
  /** How long the thread took to start, in milliseconds. */
  start_ms = 0
  /** Whether code of a skill ran in the thread. */
  ranCode = false

  constructor ({ cache_dir, lists_folder, skill_module, wasm_host, heap_bytes_max, log }: DescriberOptions) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#worker = new Worker(new URL('../reader/worker.js', import.meta.url), {
      workerData: { cache_dir, lists_folder, skill_module, wasm_host, port: port2 } satisfies ThreadData,
      transferList: [port2],
      resourceLimits: {
        maxOldGenerationSizeMb: Math.ceil(heap_bytes_max / 1_048_576) + own_mib,
        maxYoungGenerationSizeMb: 32
      },
      env: environmentForThread(),
      execArgv: [], // flags of the program (for example for a debugger) are not for this thread
      stdin: false,
      // The output of a module must not be mixed with the program's output.
      stdout: true,
      stderr: true
    })
    for (const stream of [this.#worker.stdout, this.#worker.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        if (++this.#printed <= printedMax) {
          log.debug({ text: chunk.toString('utf8', 0, errorMax) }, 'a skill printed something while it was described')
        }
      })
    }
    port1.on('message', value => { this.#hear(value) })
    port1.on('messageerror', () => { this.#refuse() })
    this.#worker.on('message', () => { this.#refuse() })
    this.#worker.on('messageerror', () => { this.#refuse() })
    this.#worker.on('error', (error: unknown) => {
      this.#fail(isOutOfMemory(error)
        ? 'its module used up the memory it may have'
        : `its module threw where nothing caught it: ${lineOf(error)}`)
    })
    this.#worker.on('exit', code => {
      this.#port.close()
      this.#fail(`its module ended the thread it was described in, with code ${code}`)
    })
  }

  /** Resolves when the thread has started, at once if it has started before. */
  async started (limit_ms: number): Promise<void> {
    if (!this.#ready) await this.#wait(undefined, limit_ms)
  }

  /** Sends a request and resolves with the reply, within a time limit in milliseconds. */
  ask (request: Request, limit_ms: number): Promise<Reply> {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    if (this.#ended === undefined) this.#port.postMessage(request)
    return this.#wait(request, limit_ms)
  }

  async end (why: string): Promise<void> {
    this.#fail(why)
    await endThread(this.#worker)
  }

  #wait (request: Request | undefined, limit_ms: number): Promise<Reply> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise<Reply>((resolve, reject) => {
      // If the main thread was busy, a reply may already wait behind the timer: it is read first.
      const timer = setTimeout(() => {
        setImmediate(() => {
          if (this.#waiting === waiting) this.#fail(`it took longer than ${limit_ms / 1000} s to read`)
        })
      }, limit_ms)
      const settle = (): void => {
        clearTimeout(timer)
        this.#waiting = undefined
      }
      const waiting = this.#waiting = {
        request,
        resolve (reply: Reply) { settle(); resolve(reply) },
        reject (error: Error) { settle(); reject(error) }
      }
    })
  }

  #hear (value: unknown): void {
    if (this.#ended !== undefined) return
    if (!this.#ready) {
      if (!isReady(value)) return this.#refuse()
      this.#ready = true
      this.start_ms = performance.now() - this.#began_ms
      this.#waiting?.resolve({ type: 'ready' })
      return
    }
    const waiting = this.#waiting
    const reply = waiting?.request === undefined ? undefined : readReply(value, waiting.request)
    if (reply === undefined) this.#refuse()
    else waiting?.resolve(reply)
  }

  #refuse (): void {
    void this.end('its module sent the server a message while it was read')
  }

  #fail (message: string): void {
    this.#ended ??= new Error(message)
    this.#waiting?.reject(this.#ended)
  }
}

function lineOf (error: unknown): string {
  return messageOf(error).slice(0, errorMax).split('\n', 1)[0] ?? ''
}

function isOutOfMemory (error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
