import { Worker } from 'node:worker_threads'
import { endThread, messageOf, SkilletError, within, type Logger, type SoughtWord } from '../../../kernel/index.ts'
import { environmentForThread } from '../../toolkit/environment.ts'
import { removePruned, wordsFolder } from './folder.ts'
import type { Found, FromThread, ThreadData, ToThread } from './protocol.ts'

/** How long a query waits for the index to be complete, in milliseconds. */
const patience_ms = 2_000
/** How long the thread is kept after the last query, in milliseconds: it may still make the index. */
const idle_ms = 600_000
/** In which time the thread must answer, and must end by itself, in milliseconds. */
const answer_ms = 30_000
const end_ms = 5_000
/** The queries that may wait for answers. */
const waitingMax = 256
/** How often words of pruned executions are removed, in milliseconds. */
const sweep_ms = 60_000
/** The memory of the thread. A block of executions with the most words takes a tenth of it. */
const heap_mib = 1_024

interface Waiting { resolve (found: Found): void, reject (error: Error): void }

/** Asks the thread that keeps the index of words. The thread starts with the first query. */
export class TextSearch {
  readonly #data: ThreadData
  readonly #log: Logger
  readonly #waiting = new Map<number, Waiting>()
  readonly #sweep: NodeJS.Timeout
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isStuck = false

  /** @param first the sequence number of the oldest execution */
  constructor (file: string, first: () => number, log: Logger) {
    this.#data = { file, folder: wordsFolder(file) }
    this.#log = log
    this.#sweep = setInterval(() => {
      removePruned(this.#data.folder, first()).catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'words of executions that were pruned could not be removed')
      })
    }, sweep_ms).unref()
  }

  /**
   * Finds the executions that have all of these words.
   * @throws SkilletError OVERLOADED when too many queries wait
   */
  async find (words: readonly SoughtWord[]): Promise<Found> {
    if (this.#waiting.size >= waitingMax) {
      throw new SkilletError('OVERLOADED', `${waitingMax} searches of the history wait already; try again later`)
    }
    const worker = this.#worker ??= this.#start()
    const id = ++this.#lastId
    const answer = new Promise<Found>((resolve, reject) => { this.#waiting.set(id, { resolve, reject }) })
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => { void this.#end() }, idle_ms).unref()
    post(worker, { type: 'find', id, words, patience_ms })
    try {
      if (await within(answer_ms, answer)) return await answer
      void this.#end()
      throw new Error(`the search of the history took longer than ${answer_ms / 1_000} s`)
    } finally {
      this.#waiting.delete(id)
    }
  }

  async close (): Promise<void> {
    clearInterval(this.#sweep)
    await this.#end()
  }

  #start (): Worker {
    const worker = new Worker(new URL('./thread.js', import.meta.url), {
      workerData: this.#data,
      env: environmentForThread(),
      execArgv: [], // the process's own options, such as those of a debugger, are not for this thread
      stdout: true, // nothing must be mixed with the program's output
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heap_mib }
    })
    let cause: string | undefined
    worker.on('message', (message: FromThread) => { this.#hear(message) }) // thread.ts is of this program
    worker.on('error', error => { cause = messageOf(error) })
    worker.on('exit', code => { this.#ended(worker, cause ?? `it ended with code ${code}`) })
    return worker
  }

  #hear (message: FromThread): void {
    switch (message.type) {
      case 'found':
        if (message.found.unindexed === 0) this.#isStuck = false
        this.#waiting.get(message.id)?.resolve(message.found)
        break
      case 'failed':
        this.#waiting.get(message.id)?.reject(new Error(message.message))
        break
      case 'stuck':
        if (!this.#isStuck) {
          const { folder } = this.#data
          this.#log.warn({ folder, error: message.message }, 'the index of words can\'t be completed')
        }
        this.#isStuck = true
    }
  }

  #ended (worker: Worker, cause: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(new Error(`the search of the history ended: ${cause}`))
  }

  async #end (): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    if (worker === undefined) return
    this.#ended(worker, 'the server stops, or it took too long')
    const ended = new Promise(resolve => { worker.once('exit', resolve) })
    post(worker, { type: 'end' })
    if (!await within(end_ms, ended)) await endThread(worker)
  }
}

function post (worker: Worker, message: ToThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(message)
}
