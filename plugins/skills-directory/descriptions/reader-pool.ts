import { messageOf, type Logger } from '../../../kernel/index.ts'
import { Describer, DescriberFault, type DescriberOptions, type Watch } from './reader-thread.ts'
import type { Awaiting, Described, Fault, FolderToRead, Reply } from '../shared/protocol.ts'

/** The number of threads: each slow module has a thread of its own, so that it does not delay other skills. */
const threadsMax = 8
/** How long the last thread is kept for the next change of an author, in milliseconds. */
const keep_ms = 10_000

/** What a thread answers about a folder. */
export type Answer = Described | Fault | { awaiting: Awaiting }

/** The next work of a thread, and a callback for when the work is done or has failed. */
interface Job { work (describer: Describer, watch: Watch): Promise<void>, done (): void }

/** A thread, or the start of one, while there is work for it. */
interface Lane {
  readonly describer: Describer
  /** The time (performance.now()) since which its present work counts as slow. */
  slow_ms: number | undefined
  stopped: boolean
}

/**
 * Reads folders in threads. Usually there is one thread, which reads them one after another; when a module is slow,
 * another thread continues with the remaining folders.
 */
export class Reading {
  readonly #options: DescriberOptions
  readonly #log: Logger
  readonly #queue: Job[] = []
  readonly #lanes = new Set<Lane>()
  /** The thread that is kept while there is no work. */
  #kept: Describer | undefined
  #idle: NodeJS.Timeout | undefined
  /** No more work is expected soon, so no thread is kept. */
  #resting = false
  #closed = false

  constructor (options: DescriberOptions) {
    this.#options = options
    this.#log = options.log
  }

  /** Starts a thread, before its work is known. */
  start (): void {
    if (this.#lanes.size > 0 || this.#closed) return
    clearTimeout(this.#idle)
    this.#kept ??= new Describer(this.#options)
    this.#kept.start()
  }

  /** Whether a thread exists. */
  get started (): boolean {
    return this.#lanes.size > 0 || this.#kept?.started === true
  }

  /** How long all threads have been occupied by slow work, in milliseconds. */
  get stuck_ms (): number {
    if (this.#queue.length > 0 || this.#lanes.size === 0) return 0
    const now = performance.now()
    return Math.min(...[...this.#lanes].map(({ slow_ms }) => slow_ms === undefined ? 0 : now - slow_ms))
  }

  /** Whether a thread has work. */
  get isBusy (): boolean {
    return this.#lanes.size > 0
  }

  /** Builds modules before they are read. Build errors are reported when they are read. */
  build (folders: FolderToRead[]): Promise<void> {
    return this.#add(async describer => { await describer.ask({ type: 'build', folders }) })
  }

  /**
   * Reads folders.
   * @returns the contents of each folder, in the order of the folders; rejects when reading was stopped
   */
  async describe (folders: readonly FolderToRead[]): Promise<Answer[]> {
    let descriptions: Answer[] = []
    await this.#add(async (describer, watch) => { descriptions = await describeAll(folders, describer, watch) })
    return descriptions
  }

  /** Removes old builds. An error is ignored, since serving does not need this. */
  prune (): Promise<void> {
    return this.#add(async describer => {
      const { removed } = expect((await describer.ask({ type: 'prune' })).reply, 'pruned')
      if (removed > 0) this.#log.debug({ removed }, 'unused builds of skills were removed')
    })
  }

  /** No more work is expected soon: ends the kept thread, and every other thread when its work is done. */
  async rest (): Promise<void> {
    this.#resting = true
    clearTimeout(this.#idle)
    const kept = this.#kept
    this.#kept = undefined
    await kept?.end()
  }

  /** Ends all threads, and aborts their work. */
  async stop (): Promise<void> {
    this.#queue.length = 0
    const lanes = [...this.#lanes]
    this.#lanes.clear()
    for (const lane of lanes) lane.stopped = true
    await Promise.all([this.rest(), ...lanes.map(({ describer }) => describer.close())])
  }

  /** Ends all threads for good. */
  async close (): Promise<void> {
    this.#closed = true
    await this.stop()
  }

  /** Resolves when the work is done or has failed; never resolves when the work was stopped. */
  #add (work: Job['work']): Promise<void> {
    this.#resting = false
    return new Promise(resolve => {
      this.#queue.push({ work, done: resolve })
      this.#widen()
    })
  }

  /** Starts another thread when all threads do slow work and more work waits. */
  #widen (): void {
    if (
      this.#closed || this.#queue.length === 0 || this.#lanes.size >= threadsMax
      || [...this.#lanes].some(({ slow_ms }) => slow_ms === undefined)
    ) {
      return
    }
    clearTimeout(this.#idle)
    const lane: Lane = { describer: this.#kept ?? new Describer(this.#options), slow_ms: undefined, stopped: false }
    this.#kept = undefined
    this.#lanes.add(lane)
    void this.#work(lane)
  }

  async #work (lane: Lane): Promise<void> {
    const { describer } = lane
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      lane.slow_ms = undefined
      try {
        await job.work(describer, {
          slow: () => {
            lane.slow_ms = performance.now()
            this.#widen()
          },
          others: this.#lanes.size - 1
        })
      } catch (error) {
        this.#log.debug({ error: messageOf(error) }, 'skills could not be prepared')
      }
      if (lane.stopped) return
      job.done()
    }
    this.#lanes.delete(lane)
    if (this.#lanes.size > 0 || this.#kept !== undefined || this.#resting) return await describer.end()
    this.#kept = describer
    this.#idle = setTimeout(() => { void this.rest() }, keep_ms).unref()
  }
}

/** Whether code of the skill may run in the thread. */
export function runsCode ({ module, in_thread }: FolderToRead): boolean {
  return module && in_thread
}

async function describeAll (
  folders: readonly FolderToRead[], describer: Describer, watch: Watch, again = false
): Promise<Answer[]> {
  const [folder, ...more] = folders
  if (folder === undefined) return []
  try {
    // Only requests that run code may take long while other folders are read.
    const { reply, suspect } =
      await describer.ask({ type: 'describe', folders: [...folders] }, runsCode(folder) ? watch : undefined)
    const descriptions = expect(reply, 'described').descriptions.map(description => {
      if ('fault' in description) return description.fault
      if ('awaiting' in description) return { awaiting: description.awaiting }
      const { ran_code: _ran, ...described } = description
      return described
    })
    return suspect && !again ? await withoutSuspects(folders, descriptions, describer, watch) : descriptions
  } catch (error) {
    if (!(error instanceof DescriberFault)) throw error
    if (more.length > 0) { // one of them failed, or they are too many for one time limit
      const descriptions: Answer[] = []
      for (const skillFolder of folders) descriptions.push(...await describeAll([skillFolder], describer, watch))
      return descriptions
    }
    // The leftovers of an earlier skill in the thread (for example a timer) may be the cause: a new thread shows this.
    if (error.suspect && !again) return await describeAll(folders, describer, watch, true)
    return [{ name: folder.name, path: folder.path, error: error.message }]
  }
}

/**
 * Describes faulty skills again in a new thread, since an earlier skill may have changed the thread and so caused the
 * faults.
 */
async function withoutSuspects (
  folders: readonly FolderToRead[], descriptions: readonly Answer[], describer: Describer, watch: Watch
): Promise<Answer[]> {
  const faulty = folders.filter((_, i) => {
    const description = descriptions[i]
    if (description === undefined || 'error' in description) return true
    return 'broken' in description && description.broken.length > 0
  })
  if (faulty.length === 0) return [...descriptions]
  await describer.end()
  const fresh = await describeAll(faulty, describer, watch, true)
  return folders.flatMap((folder, i) =>
    (faulty.includes(folder) ? fresh[faulty.indexOf(folder)] : descriptions[i]) ?? [])
}

function expect<T extends Reply['type']> (reply: Reply, type: T): Extract<Reply, { type: T }> {
  if (reply.type !== type) throw new DescriberFault(`it was answered by "${reply.type}" instead of "${type}"`, false)
  return reply as Extract<Reply, { type: T }> // checked by the comparison above
}
