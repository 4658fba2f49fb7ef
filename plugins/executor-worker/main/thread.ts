import { Piscina } from 'piscina'
import { MessageChannel, receiveMessageOnPort, type MessagePort, type Worker } from 'node:worker_threads'
import { endThread, isObject, messageOf, within } from '../../../kernel/index.ts'
import { Board } from '../shared/board.ts'
import { readFromThread } from '../shared/incoming.ts'
import { abandon_ms } from '../shared/limits.ts'
import { speech, type Ended, type FromThread, type Of, type Service, type ThreadData, type ToThread } from '../shared/protocol.ts'
import { Speech } from './speech.ts'

/** How a thread ended while it had a run. */
export class ThreadDeath extends Error {
  override readonly name = 'ThreadDeath'
  /** Undefined when it was no longer waited for. */
  readonly code: number | undefined
  readonly outOfMemory: boolean
  /** Whether it was ended for what it sent. */
  readonly refused: boolean

  constructor (code: number | undefined, cause: Error | undefined) {
    super(cause?.message ?? `the thread ended with code ${code}`, { cause })
    this.code = code
    this.outOfMemory = isOutOfMemory(cause)
    this.refused = cause instanceof Refusal
  }
}

function isOutOfMemory (error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' && typeof error.message === 'string'
}

/** Why a thread is not listened to any more. */
class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** The run or batch it has. */
interface Given {
  speech: Speech
  resolve (ended: Ended): void
  reject (death: ThreadDeath): void
}

export interface ThreadOptions {
  data: Pick<ThreadData, 'output_bytes_max' | 'memory_bytes_kept_max'>
  /** Hard limit of the heap, in MiB. */
  heap_mib: number
  env: Record<string, string>
  /** How much it gives way to other threads of the machine: 0 not at all, 19 most. */
  nice: number
  /** What it says of its runs, but for their ends; or that it is clean. */
  onMessage (message: Exclude<FromThread, Ended | Of<'stray'> | Of<'pong'>>): void
  /** An error in it that no run is told of. */
  onStray (text: string): void
  /** It sent what no thread sends, and is ended. */
  onNonsense (what: string): void
  /** It has ended, or is no longer waited for. */
  onGone (): void
  /** Its entry; tests give one that says what it should not. */
  entry?: URL
}

/** Said in place of an error that may hold a secret. */
const withheld = 'its text is withheld: the thread has run a tool that was given a secret'

/** The longest error of the thread itself that is passed on, in characters. */
const errorMax = 8192

/**
 * One script thread: a Piscina pool of a single thread, whose only task is to serve. With one thread to a pool it is known which
 * run is where, and a thread that is to be ended gets nothing more.
 *
 * Tools run in it, so nothing that comes from it is believed before it was read (`incoming.ts`) and fits what the thread was given
 * (`speech.ts`); the first message that does not ends the thread. Runs go over a port of our own: Piscina believes what a thread
 * answers, and a `null` on its port would throw on the main thread. It never answers there while it serves.
 */
export class Thread {
  readonly #piscina: Piscina
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #options: ThreadOptions
  readonly board = new Board()
  readonly nice: number
  readonly id: number
  #error: Error | undefined
  #given: Given | undefined
  /** The run it had last, while it may still say that it is clean. */
  #settling: number | undefined
  #pong: { resolve (): void, reject (error: Error): void } | undefined
  /** Since it was last given something. */
  #strays = 0
  #refused = false
  #gone = false
  /** Whether it was ever given anything secret. */
  #sensitive = false
  #ending: Promise<void> | undefined
  /** The revision it has loaded, or begun to load, by module. */
  readonly revisions = new Map<string, string>()
  /** The module it has of a skill, by the skill's folder. */
  readonly versions = new Map<string, string>()
  /** Modules of which a tool has begun: they are loaded. */
  readonly loaded = new Set<string>()
  /** performance.now() when it was last given back. */
  idle_since_ms = 0

  /** Starts it. */
  constructor (options: ThreadOptions) {
    this.#options = options
    this.nice = options.nice
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const { nice } = options
    this.#piscina = new Piscina({
      filename: (options.entry ?? new URL('../thread/worker.js', import.meta.url)).href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Infinity,
      atomics: 'disabled', // the thread's event loop goes on between runs
      recordTiming: false,
      argv: [],
      execArgv: [],
      env: options.env,
      resourceLimits: { maxOldGenerationSizeMb: options.heap_mib },
      workerData: { ...options.data, nice, board: this.board.memory } satisfies ThreadData
    })
    this.#piscina.on('error', error => { this.#fail(error) })
    this.#piscina.on('message', () => { this.refuse('a message to parentPort, which is the server\'s') })
    this.#piscina.on('workerCreate', worker => { this.#guard(worker) }) // before the thread has any task
    this.#piscina.run({ port: port2 } satisfies Service, { transferList: [port2] }).catch(() => {}) // its end is told by the worker
    const worker = this.#worker = firstOf(this.#piscina.threads)
    this.id = worker.threadId
    worker.on('error', error => { this.#fail(error) })
    worker.on('exit', code => { this.#leave(code) })
    worker.on('messageerror', () => { this.refuse('a message to parentPort that can\'t be read') })
    port1.on('message', value => { this.#hear(value) })
    port1.on('messageerror', () => { this.refuse('a message that can\'t be read') })
    this.#hold(false)
    port1.on('close', () => { if (!this.#gone) worker.ref() }) // its exit is heard of, too
  }

  get ending (): boolean {
    return this.#ending !== undefined || this.#gone
  }

  /** Whether it is being taken down, as far as is known. */
  get leaving (): boolean {
    return this.ending || this.board.left
  }

  /**
   * Gives it a run or a batch. One at a time; its board was dealt for it.
   * @throws ThreadDeath when it ended before the run did; everything it had said before was heard by then
   */
  execute (message: Of<'run'> | Of<'batch'>): Promise<Ended> {
    if (message.type === 'run') {
      this.revisions.set(message.module, message.revision)
      this.#sensitive ||= message.sensitive
    }
    if (this.ending) return Promise.reject(new ThreadDeath(undefined, this.#error))
    return new Promise((resolve, reject) => {
      this.#post(message)
      this.#settling = undefined
      this.#strays = 0
      this.#given = { speech: new Speech(message), resolve, reject }
      this.#hold(true)
    })
  }

  /** Whether it has loaded this very module. */
  has (module: string, revision: string): boolean {
    return this.loaded.has(module) && this.revisions.get(module) === revision
  }

  /**
   * Whether a run may have it. Code can leave traps for what comes later in the same thread: what is given anything secret
   * shares a thread with no other skill, neither before nor after.
   */
  takes ({ module, sensitive }: { module: string, sensitive: boolean }): boolean {
    const others = this.revisions.size > (this.revisions.has(module) ? 1 : 0)
    return !others || !(sensitive || this.#sensitive)
  }

  /** Resolves when it answers. Only while it has no run. */
  async ping (): Promise<void> {
    if (this.ending) throw new ThreadDeath(undefined, this.#error)
    this.#hold(true)
    await new Promise<void>((resolve, reject) => {
      this.#pong = { resolve, reject }
      this.#post({ type: 'ping' })
    })
    if (this.#given === undefined) this.#hold(false)
  }

  /** Asks a running tool to end. */
  ask (run: number): void {
    this.#post({ type: 'ask', run })
  }

  /** Ends it, whatever it does. Resolves when it has ended, or is no longer waited for. */
  end (): Promise<void> {
    return this.#ending ??= this.#end()
  }

  async #end (): Promise<void> {
    await within(abandon_ms, Promise.all([this.#piscina.destroy(), endThread(this.#worker)]))
    this.#leave(undefined)
  }

  /**
   * Lets Piscina believe no answer of the thread: as long as it serves it gives none, so whatever comes was sent by a tool.
   * Piscina keeps what it knows of a worker behind a symbol.
   */
  #guard (worker: object): void {
    const [symbol] = Object.getOwnPropertySymbols(worker)
    const known: unknown = symbol === undefined ? undefined : Reflect.get(worker, symbol)
    if (!isObject(known) || typeof known['onMessage'] !== 'function') throw new Error('this version of Piscina is not known')
    known['onMessage'] = () => { this.refuse('an answer to Piscina, which is the server\'s') }
    // Once it has its task, which would keep the process alive.
    queueMicrotask(() => { if (isUnreferable(known['port'])) known['port'].unref() })
  }

  #post (message: ToThread): void {
    this.#port.postMessage(message) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has no origin
  }

  /** Keeps the process alive while it has something to do, or lets it end. */
  #hold (alive: boolean): void {
    for (const handle of [this.#worker, this.#port]) {
      if (alive) handle.ref()
      else handle.unref()
    }
  }

  #leave (code: number | undefined): void {
    if (this.#gone) return
    // What it said before it ended was said.
    for (let left = receiveMessageOnPort(this.#port); left !== undefined; left = receiveMessageOnPort(this.#port)) this.#hear(left.message)
    this.#gone = true
    this.#port.close()
    const death = new ThreadDeath(code, this.#error)
    this.#pong?.reject(death)
    this.#given?.reject(death)
    this.#given = undefined
    void this.end()
    this.#options.onGone()
  }

  /** An error ended it. */
  #fail (error: unknown): void {
    const text = messageOf(error).slice(0, errorMax)
    // What a tool threw can have anything in place of its message.
    this.#error ??= isOutOfMemory(error) ? error : new Error(text)
    if (this.#given === undefined) this.#tellStray(text)
  }

  /** Ends it for what it sent, or wrote on its board: nothing it says is believed any more. */
  refuse (what: string): void {
    if (this.#gone || this.#refused) return
    this.#refused = true
    this.#error ??= new Refusal(what)
    void this.end()
    this.#options.onNonsense(what)
  }

  #hear (value: unknown): void {
    if (this.#refused) return
    const message = readFromThread(value, this.#options.data.output_bytes_max)
    if (message === undefined) return this.refuse('a message that makes no sense')
    switch (message.type) {
      case 'pong':
        if (this.#pong === undefined) return this.refuse('an answer to what was not asked')
        this.#pong.resolve()
        this.#pong = undefined
        return
      case 'stray':
        return this.#tellStray(message.text)
      case 'clean':
        if (message.run !== this.#settling) return this.refuse('word of a run that it does not have')
        this.#settling = undefined
        return this.#options.onMessage(message)
      case 'ended':
        if (this.#given?.speech.allows(message) !== true) return this.refuse('the end of a run that it does not have')
        return this.#close(this.#given, message)
      default:
        if (this.#given?.speech.allows(message) !== true) return this.refuse('word of a run that it does not have, or too many')
        this.#options.onMessage(message)
    }
  }

  #close (given: Given, ended: Ended): void {
    this.#given = undefined
    if (ended.thread === 'settling') this.#settling = ended.run
    if (this.#pong === undefined) this.#hold(false)
    given.resolve(ended)
  }

  #tellStray (text: string): void {
    // Twice: what it said at the end of one run may come in the next.
    if (++this.#strays > 2 * speech.strays) return this.refuse('more errors than a thread may')
    this.#options.onStray(this.#sensitive ? withheld : text)
  }
}

function firstOf (workers: readonly Worker[]): Worker {
  const [worker] = workers
  if (worker === undefined) throw new Error('Piscina started no thread')
  return worker
}

function isUnreferable (value: unknown): value is { unref (): void } {
  return typeof value === 'object' && value !== null && 'unref' in value && typeof value.unref === 'function'
}
