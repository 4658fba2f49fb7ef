import {
  messageOf, recordBytes, refuseTooManyPending, type Logger, type PluginContext, type StoredExecution, type UnfinishedExecution
} from '../../kernel/index.ts'
import type { Environment } from './environment.ts'
import type { EndRecord, History } from './history.ts'
import type { Sweep } from './sweep.ts'

/**
 * What nobody waits for is gathered for so long before it is committed: half as many commits take a twentieth off what
 * an execution costs the main thread.
 */
const gather_ms = 10
/** How long a failed commit waits before it is tried again; doubled each time. */
const retryMin_ms = 100
const retryMax_ms = 2_000
/**
 * A commit that takes longer than this fails those who wait for it, and is still waited for: another process may
 * hold the lock; and lmdb never answers when a transaction can't begin.
 */
const stall_ms = 15_000

/** What waits for a commit, and the promise of those who wait for it. */
class Batch {
  /**
   * In the order in which they were saved; of several of one execution the last counts. No table by id: most are new,
   * and nobody asks for them.
   */
  records: StoredExecution[] = []
  /** Of each record, and of all. */
  #bytes: number[] = []
  bytes = 0
  /** Whether somebody waits for it. */
  awaited = false
  readonly promise: Promise<void>
  resolve!: () => void
  reject!: (reason: unknown) => void

  constructor () {
    this.promise = new Promise((resolve, reject) => { this.resolve = resolve; this.reject = reject })
    this.promise.catch(() => {}) // nobody needs to wait for it
  }

  add (stored: StoredExecution): void {
    const bytes = recordBytes(stored.execution)
    this.records.push(stored)
    this.#bytes.push(bytes)
    this.bytes += bytes
  }

  /** Takes over what another batch holds, before what it will hold. */
  addAll (other: Batch): void {
    this.records = this.records.concat(other.records)
    this.#bytes = this.#bytes.concat(other.#bytes)
    this.bytes += other.bytes
  }

  /** So many, from the first on, are done with; most often all. */
  drop (count: number): void {
    if (count === this.records.length) this.bytes = 0
    else for (let index = 0; index < count; index++) this.bytes -= this.#bytes[index] ?? 0
    this.records = this.records.slice(count)
    this.#bytes = this.#bytes.slice(count)
  }

  find (id: string): StoredExecution | undefined {
    return this.records.findLast(({ execution }) => execution.id === id)
  }
}

/** A wait that can be ended before its time. */
class Pause {
  readonly over: Promise<void>
  end!: () => void

  constructor (ms: number) {
    this.over = new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.end = () => { clearTimeout(timer); resolve() }
    })
  }
}

/**
 * Coalesces saves into commits, one at a time. `open` gathers what is saved; a commit takes all of it at the
 * moment its transaction runs, so that it holds the newest states; what is saved meanwhile waits for the next.
 */
export class Writer {
  readonly #env: Environment
  readonly #history: History
  readonly #sweep: Sweep
  readonly #health: PluginContext['health']
  readonly #log: Logger
  #open = new Batch()
  #taken: Batch | undefined
  #running: Promise<void> | undefined
  /** Before a commit that nobody waits for. */
  #gathering: Pause | undefined
  /** After a commit that failed. */
  #retrying: Pause | undefined
  #failures = 0
  #closing = false

  constructor (env: Environment, history: History, sweep: Sweep, health: PluginContext['health'], log: Logger) {
    this.#env = env
    this.#history = history
    this.#sweep = sweep
    this.#health = health
    this.#log = log
  }

  /** @throws SkilletError OVERLOADED */
  admit (): void {
    const [open, taken] = [this.#open, this.#taken]
    refuseTooManyPending(open.records.length + (taken?.records.length ?? 0), open.bytes + (taken?.bytes ?? 0))
  }

  save (stored: StoredExecution): void {
    this.#open.add(stored)
    this.#running ??= this.#run()
  }

  /** Resolves when all that was saved is on disk; rejects when the commit it waits for failed. */
  async commit (): Promise<void> {
    if (this.#open.records.length === 0) return this.#taken?.promise
    this.#open.awaited = true
    this.#gathering?.end()
    await this.#open.promise
  }

  /** As `commit`, but never rejects; and it does not wait while commits fail, so that what is on disk can be read. */
  async settled (): Promise<void> {
    if (this.#failures === 0) await this.commit().catch(() => {})
  }

  /** A state that waits for a commit. */
  find (id: string): StoredExecution | undefined {
    return this.#open.find(id) ?? this.#taken?.find(id)
  }

  /**
   * Ends executions of other processes, as many as a transaction takes, beside what is saved.
   * @throws Error when the commit failed
   */
  async end (found: readonly UnfinishedExecution[], end: EndRecord): Promise<{ seen: number, ended: string[] }> {
    try {
      const { seen, ended, written } = await this.#env.transact(() => this.#history.end(found, end))
      this.#history.committed(written)
      this.#sweep.wrote(written.characters)
      return { seen, ended }
    } catch (error) {
      this.#history.failed()
      throw error
    }
  }

  /** Commits what waits, with one more try where that failed. */
  async close (): Promise<void> {
    this.#closing = true
    this.#gathering?.end()
    this.#retrying?.end()
    await this.#running
    const lost = new Set(this.#open.records.map(({ execution }) => execution.id)).size
    if (lost > 0) this.#log.error({ executions: lost }, 'the history could not be written; these executions are lost')
  }

  async #run (): Promise<void> {
    await undefined // whoever saves and waits for it does so in the same turn
    while (this.#open.records.length > 0) {
      if (!this.#open.awaited && !this.#closing) await (this.#gathering = new Pause(gather_ms)).over
      const last = this.#closing
      if (await this.#commitAll()) continue
      if (last) break
      if (!this.#closing) await (this.#retrying = new Pause(Math.min(retryMax_ms, retryMin_ms * 2 ** (this.#failures - 1)))).over
    }
    this.#running = undefined
  }

  /** Commits what is open, in as many transactions as it takes. @returns false when one failed */
  async #commitAll (): Promise<boolean> {
    const refused: unknown[] = []
    const stalled = setTimeout(() => { this.#stall() }, stall_ms).unref()
    try {
      do {
        const written = await this.#env.transact(() => {
          const batch = this.#taken ??= this.#open
          if (batch === this.#open) this.#open = new Batch()
          return this.#history.put(batch.records)
        })
        this.#history.committed(written)
        this.#sweep.wrote(written.characters)
        this.#taken?.drop(written.count)
        refused.push(...written.refused)
      } while (this.#taken !== undefined && this.#taken.records.length > 0)
    } catch (error) {
      this.#fail(error)
      return false
    } finally {
      clearTimeout(stalled)
    }
    if (refused.length === 0) this.#taken?.resolve()
    else this.#taken?.reject(new Error(`${refused.length} executions can't be recorded: ${messageOf(refused[0])}`, { cause: refused[0] }))
    this.#taken = undefined
    if (this.#failures > 0) {
      this.#failures = 0
      this.#health.recover()
      this.#log.info({}, 'the history can be written again')
    }
    return true
  }

  #stall (): void {
    const reason = `a commit to ${this.#env.file} takes longer than ${stall_ms / 1000} seconds`
    this.#failures++
    this.#log.error({ file: this.#env.file }, reason)
    this.#health.degrade(reason)
    const waiting = this.#taken ?? this.#open
    waiting.reject(new Error(reason))
  }

  /** Rejects those who wait, keeps what they saved for the next commit, before what came meanwhile. */
  #fail (thrown: unknown): void {
    const failed = this.#taken ?? this.#open
    const next = new Batch()
    next.addAll(failed)
    if (failed !== this.#open) next.addAll(this.#open)
    next.awaited = true
    const superseded = failed === this.#open ? undefined : this.#open
    this.#open = next
    this.#taken = undefined
    this.#history.failed()
    const reason = `the history can't be written to ${this.#env.file}: ${messageOf(thrown)}`
    if (this.#failures++ === 0) this.#log.error({ file: this.#env.file, error: messageOf(thrown) }, 'a commit failed; it is tried again until it succeeds')
    this.#health.degrade(reason)
    failed.reject(new Error(reason, { cause: thrown }))
    // Those who wait for what was saved meanwhile were promised the next commit.
    if (superseded !== undefined) next.promise.then(superseded.resolve, superseded.reject)
  }
}
