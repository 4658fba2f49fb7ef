import { Piscina } from 'piscina'
import type { MessagePort, Worker } from 'node:worker_threads'
import { within } from '../../kernel/index.ts'
import { Board } from './board.ts'
import { isMessage, type Ended, type Message, type Of, type ThreadData } from './protocol.ts'
import { abandon_ms } from './limits.ts'

/** How a thread ended while it had a run. */
export class ThreadDeath extends Error {
  override readonly name = 'ThreadDeath'
  /** Undefined when it was no longer waited for. */
  readonly code: number | undefined
  readonly outOfMemory: boolean

  constructor (code: number | undefined, cause: Error | undefined) {
    super(cause?.message ?? `the thread ended with code ${code}`, { cause })
    this.code = code
    this.outOfMemory = cause !== undefined && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY'
  }
}

/** The run it has. */
interface Given {
  resolve (ended: Ended): void
  reject (death: ThreadDeath): void
  /** How it ended, where that was told before the piscina task returned, or beside it. */
  ended: Ended | undefined
  /** The piscina task has returned: the thread takes another. */
  returned: boolean
}

export interface ThreadOptions {
  data: Omit<ThreadData, 'board'>
  /** Hard limit of the heap, in MiB. */
  heap_mib: number
  env: Record<string, string>
  /** How much it gives way to other threads of the machine: 0 not at all, 19 most. */
  nice: number
  /** What it says, but for `ready` and `ended`. */
  onMessage (message: Message): void
  /** An error in it that no run is told of. */
  onStray (error: Error): void
  /** It has ended, or is no longer waited for. */
  onGone (): void
}

/** Said in place of an error that may hold a secret. */
const withheld = 'its text is withheld: the thread has run a tool that was given a secret'

const worker_file = new URL('worker.js', import.meta.url).href

/**
 * One script thread: a Piscina pool of a single thread. Piscina decides alone which of its threads gets a task, gives
 * a queued one to a thread in the very turn in which that thread's last result arrives, and leaves a task in its queue
 * when a starting thread dies. With one thread to a pool, which run is where is known, and a thread that is to be
 * ended gets nothing more; the throughput is the same (measured: 14,000 to 17,000 trivial tasks a second both ways).
 *
 * Atomics are off. 'sync' blocks the thread between tasks, so what a tool left behind would run in the next one's
 * time; 'async' and 'disabled' keep its event loop live. In an interleaved run (trivial tasks a second, median): sync
 * 15,150, async 12,265 to 14,605, disabled 15,340; with a `started` message each 14,532, 16,602 and 17,052.
 */
export class Thread {
  readonly #piscina: Piscina
  readonly board = new Board()
  readonly #options: ThreadOptions
  readonly nice: number
  #worker: Worker | undefined
  /** Where it was started before it was given anything: resolves when it answers, or never will. */
  #starting: Promise<void> | undefined
  #port: MessagePort | undefined
  /** A run to be asked as soon as the thread listens. */
  #ask: Of<'ask'> | undefined
  #error: Error | undefined
  #given: Given | undefined
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

  constructor (options: ThreadOptions) {
    this.#options = options
    this.nice = options.nice
    this.#piscina = new Piscina({
      filename: worker_file,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Infinity,
      atomics: 'disabled',
      recordTiming: false,
      niceIncrement: options.nice,
      argv: [],
      execArgv: [],
      env: options.env,
      resourceLimits: { maxOldGenerationSizeMb: options.heap_mib },
      workerData: { ...options.data, board: this.board.memory } satisfies ThreadData
    })
    // Without a listener, an error in an idle thread would end the process.
    this.#piscina.on('error', (error: Error) => { options.onStray(this.#sensitive ? new Error(withheld) : error) })
    this.#piscina.on('message', (message: unknown) => { if (isMessage(message)) this.#hear(message) })
  }

  /** Undefined until its first run is given to it. */
  get id (): number | undefined {
    return this.#worker?.threadId
  }

  get ending (): boolean {
    return this.#ending !== undefined || this.#gone
  }

  /** Whether it is being taken down, as far as is known. */
  get leaving (): boolean {
    return this.ending || this.board.left
  }

  /** Starts it before there is anything to run. */
  start (): void {
    this.#starting = this.ping().catch(() => {})
  }

  /**
   * Gives it a run or a batch. One at a time; its board was dealt for it.
   * @throws ThreadDeath when it ended before the run did; everything it had said before was heard by then
   */
  async execute (message: Of<'run'> | Of<'batch'>): Promise<Ended> {
    if (message.type === 'run') {
      this.revisions.set(message.module, message.revision)
      this.#sensitive ||= message.sensitive
    }
    if (this.#starting !== undefined) await this.#starting
    this.#starting = undefined
    if (this.#gone) throw new ThreadDeath(undefined, this.#error)
    try {
      return await new Promise<Ended>((resolve, reject) => {
        const given: Given = { resolve, reject, ended: undefined, returned: false }
        this.#given = given
        const returned = (ended: Ended | null): void => {
          given.returned = true
          given.ended ??= ended ?? undefined
          if (given.ended !== undefined) resolve(given.ended)
        }
        this.#piscina.run(message).then(returned, (error: unknown) => {
          // Piscina tells of the thread's end too, by an error without a code: its exit event says more, and comes.
          if (error instanceof Error) this.#error ??= error
          void this.end()
        })
        if (this.#worker === undefined) this.#attach()
      })
    } finally {
      this.#given = undefined
    }
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
    const answer = this.#piscina.run({ type: 'ping' } satisfies Message)
    if (this.#worker === undefined) this.#attach()
    await answer
  }

  /** Asks a running tool to end. */
  ask (run: number): void {
    const message = { type: 'ask', run } as const
    const port = this.#port
    if (port === undefined) this.#ask = message
    else port.postMessage(message)
  }

  /** Ends it, whatever it does. Resolves when it has ended, or is no longer waited for. */
  end (): Promise<void> {
    return this.#ending ??= this.#end()
  }

  async #end (): Promise<void> {
    await within(abandon_ms, this.#piscina.destroy())
    this.#leave(undefined)
  }

  #attach (): void {
    const [worker] = this.#piscina.threads
    if (worker === undefined) throw new Error('piscina started no thread')
    this.#worker = worker
    worker.on('error', (error: Error) => { this.#error ??= error })
    worker.on('exit', code => { this.#leave(code) })
  }

  #leave (code: number | undefined): void {
    if (this.#gone) return
    this.#gone = true
    this.#port?.close()
    const given = this.#given
    if (given?.ended !== undefined) given.resolve({ ...given.ended, thread: 'spent' })
    else given?.reject(new ThreadDeath(code, this.#error))
    void this.end()
    this.#options.onGone()
  }

  #hear (message: Message): void {
    switch (message.type) {
      case 'ready':
        return this.#listen(message.port)
      case 'ended':
        if (this.#given === undefined) return
        this.#given.ended = message
        if (this.#given.returned) this.#given.resolve(message)
        return
      case 'stray':
        return this.#options.onMessage(this.#sensitive ? { ...message, text: withheld } : message)
      default:
        this.#options.onMessage(message)
    }
  }

  #listen (port: MessagePort): void {
    this.#port = port
    port.unref()
    if (this.#ask !== undefined) port.postMessage(this.#ask)
  }
}
