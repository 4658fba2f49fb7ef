import { MessageChannel, receiveMessageOnPort, type MessagePort, type Worker } from 'node:worker_threads'
import { messageOf, within } from '../../../kernel/index.ts'
import { Board } from '../shared/board.ts'
import { readFromThread } from '../shared/incoming.ts'
import { abandon_ms } from '../shared/limits.ts'
import { speech, type Ended, type FromThread, type Of, type ThreadData, type ToThread } from '../shared/protocol.ts'
import { startWorker } from './piscina.ts'
import { Speech } from './speech.ts'
import { isOutOfMemory, Refusal, ThreadDeath } from './thread-death.ts'

/** The run or batch it has. */
interface Task {
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
  /** A message about a run, but for its end; or the message that the thread is clean. */
  onMessage (message: Exclude<FromThread, Ended | Of<'stray'> | Of<'pong'>>): void
  /** An error in it that belongs to no run. */
  onStray (text: string): void
  /** It sent a message that no thread sends, and is ended. */
  onNonsense (reason: string): void
  /** It has ended, or is no longer waited for. */
  onGone (): void
  /** The module that runs in it; tests have a module that sends what it should not. */
  entry?: URL
}

/** The text in place of an error that may hold a secret. */
const withheld = 'its text is withheld: the thread has run a tool that was given a secret'

/** The longest error of the thread itself that is passed on, in characters. */
const errorMax = 8192

/**
 * A script thread: a Piscina pool of a single thread, whose only task is to serve over a port of our own. With a thread
 * to each pool it is known which run is where, and a thread that is to be ended gets nothing more.
 *
 * Tools run in it, so nothing that comes from it is believed before it was read (`incoming.ts`) and fits the run or
 * batch that the thread has (`speech.ts`); the first message that does not fit ends the thread.
 */
export class Thread {
  readonly #worker: Worker
  readonly #endWorker: () => Promise<unknown>
  readonly #port: MessagePort
  readonly #options: ThreadOptions
  readonly board = new Board()
  readonly nice: number
  readonly id: number
  #error: Error | undefined
  #task: Task | undefined
  /** The run it had last, while it may still say that it is clean. */
  #settling: number | undefined
  #pong: { resolve (): void, reject (error: Error): void } | undefined
  /** Errors that belong to no run, since its last run or batch began. */
  #strays = 0
  #refused = false
  #gone = false
  /** Whether it ever had a run with secrets. */
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
    const { nice, data, heap_mib, env } = this.#options = options
    this.nice = nice
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const { worker, end } = startWorker({
      entry: options.entry ?? new URL('../thread/worker.js', import.meta.url),
      data: { ...data, nice, board: this.board.memory },
      heap_mib,
      env,
      port: port2,
      failed: error => { this.#fail(error) },
      refuse: reason => { this.refuse(reason) }
    })
    this.#worker = worker
    this.#endWorker = end
    this.id = worker.threadId
    worker.on('exit', code => { this.#leave(code) })
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
      this.#task = { speech: new Speech(message), resolve, reject }
      this.#hold(true)
    })
  }

  /** Whether it has loaded this very module. */
  has (module: string, revision: string): boolean {
    return this.loaded.has(module) && this.revisions.get(module) === revision
  }

  /**
   * Whether a run may have it. Code can leave traps for the next code in the same thread: a run with secrets shares a
   * thread with no other skill, neither before nor after.
   */
  takes ({ module, sensitive }: { module: string, sensitive: boolean }): boolean {
    const hasOthers = this.revisions.size > (this.revisions.has(module) ? 1 : 0)
    return !hasOthers || !(sensitive || this.#sensitive)
  }

  /** Resolves when it answers. Only while it has no run. */
  async ping (): Promise<void> {
    if (this.ending) throw new ThreadDeath(undefined, this.#error)
    this.#hold(true)
    await new Promise<void>((resolve, reject) => {
      this.#pong = { resolve, reject }
      this.#post({ type: 'ping' })
    })
    if (this.#task === undefined) this.#hold(false)
  }

  /** Asks a running tool to end. */
  ask (run: number): void {
    this.#post({ type: 'ask', run })
  }

  /** Ends it, whatever it does. Resolves when it has ended, or is no longer waited for. */
  end (): Promise<void> {
    return this.#ending ??= within(abandon_ms, this.#endWorker()).then(() => this.#leave(undefined))
  }

  #post (message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#port.postMessage(message)
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
    // Messages that it sent before it ended count.
    let left = receiveMessageOnPort(this.#port)
    for (; left !== undefined; left = receiveMessageOnPort(this.#port)) this.#hear(left.message)
    this.#gone = true
    this.#port.close()
    const death = new ThreadDeath(code, this.#error)
    this.#pong?.reject(death)
    this.#task?.reject(death)
    this.#task = undefined
    void this.end()
    this.#options.onGone()
  }

  /** An error ended it. */
  #fail (error: unknown): void {
    const text = messageOf(error).slice(0, errorMax)
    // An error of a tool can have anything in place of its message.
    this.#error ??= isOutOfMemory(error) ? error : new Error(text)
    if (this.#task === undefined) this.#tellStray(text)
  }

  /** Ends it for a message, or for bytes on its board: no message of it is believed any more. */
  refuse (reason: string): void {
    if (this.#gone || this.#refused) return
    this.#refused = true
    this.#error ??= new Refusal(reason)
    void this.end()
    this.#options.onNonsense(reason)
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
        if (this.#task?.speech.allows(message) !== true) return this.refuse('the end of a run that it does not have')
        return this.#close(this.#task, message)
      default:
        if (this.#task?.speech.allows(message) === true) return this.#options.onMessage(message)
        this.refuse('word of a run that it does not have, or too many')
    }
  }

  #close (task: Task, ended: Ended): void {
    this.#task = undefined
    if (ended.thread === 'settling') this.#settling = ended.run
    if (this.#pong === undefined) this.#hold(false)
    task.resolve(ended)
  }

  #tellStray (text: string): void {
    // Twice: what it said at the end of one run may come in the next.
    if (++this.#strays > 2 * speech.strays) return this.refuse('more errors than a thread may')
    this.#options.onStray(this.#sensitive ? withheld : text)
  }
}
