import {
  messageOf, refuseTooManyPending, SkilletError, type Logger, type PluginContext, type StoredExecution,
  type UnfinishedExecution
} from '../../kernel/index.ts'
import { Batch, Pause } from './batch.ts'
import type { Environment } from './environment.ts'
import type { History, Settle, Written } from './history.ts'
import { isNoRoom } from './no-room.ts'
import type { Sweep } from './sweep.ts'

/**
 * The time for which saves are collected when no caller waits for them, in milliseconds. With half as many commits, an
 * execution costs the main thread a twentieth less.
 */
const gather_ms = 10
/** The wait after a failed commit before the next attempt, in milliseconds; doubled each time, up to the maximum. */
const retryMin_ms = 100
const retryMax_ms = 2_000
/**
 * When a commit takes longer than this, the promises of its callers are rejected, but the commit may still complete:
 * another process may hold the lock, and lmdb never answers when a transaction can't begin.
 */
const stall_ms = 15_000

const nothingWritten: Written = { count: 0, characters: 0, refused: [], begun: new Map(), ended: [] }

/**
 * Coalesces saves into commits, one at a time. `open` collects the saved records; a commit takes all of them at the
 * moment its transaction runs, so that it contains the newest states. Records that are saved meanwhile wait for the
 * next commit.
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
  /** The wait before a commit without waiting callers. */
  #gathering: Pause | undefined
  /** The wait after a failed commit. */
  #retrying: Pause | undefined
  #failures = 0
  /** Why the last commit failed, for callers. */
  #reason = ''
  #closing = false

  constructor (env: Environment, history: History, sweep: Sweep, health: PluginContext['health'], log: Logger) {
    this.#env = env
    this.#history = history
    this.#sweep = sweep
    this.#health = health
    this.#log = log
  }

  /** @throws SkilletError OVERLOADED, or STORAGE_UNAVAILABLE while commits fail */
  admit (): void {
    if (this.#failures > 0) throw new SkilletError('STORAGE_UNAVAILABLE', this.#reason)
    const [open, taken] = [this.#open, this.#taken]
    refuseTooManyPending(open.records.length + (taken?.records.length ?? 0), open.bytes + (taken?.bytes ?? 0))
  }

  save (stored: StoredExecution): void {
    this.#open.add(stored)
    this.#running ??= this.#run()
  }

  /** Resolves when all saved records are on disk; rejects when that commit failed. */
  async commit (): Promise<void> {
    if (this.#open.records.length === 0) return this.#taken?.promise
    this.#open.awaited = true
    this.#gathering?.end()
    await this.#open.promise
  }

  /** As `commit`, but never rejects; and while commits fail it does not wait, so that the data on disk can be read. */
  async settled (): Promise<void> {
    if (this.#failures === 0) await this.commit().catch(() => {})
  }

  /** A saved record that is not committed yet. */
  find (id: string): StoredExecution | undefined {
    return this.#open.find(id) ?? this.#taken?.find(id)
  }

  /**
   * Changes executions of other processes, as many as a transaction can hold.
   * @throws Error when the commit failed
   */
  async settle (
    unfinished: readonly UnfinishedExecution[], settle: Settle
  ): Promise<{ seen: number, settled: string[] }> {
    return await this.#now(() => this.#history.settle(unfinished, settle))
  }

  /**
   * Stores a record at once, without the records that wait, if `claim` finds nothing that prevents it.
   * @returns what `claim` found
   * @throws SkilletError of `claim`, or STORAGE_UNAVAILABLE
   */
  async once<T> (stored: StoredExecution, claim: () => T | undefined): Promise<T | undefined> {
    const { found } = await this.#now(() => {
      const found = claim()
      if (found !== undefined) return { found, written: nothingWritten }
      const written = this.#history.put([stored])
      if (written.refused.length > 0) throw written.refused[0] // so that nothing of the transaction stays
      return { found, written }
    }).catch((error: unknown) => {
      if (error instanceof SkilletError) throw error
      const reason = `the history can't be written to ${this.#env.file}: ${messageOf(error)}`
      throw new SkilletError('STORAGE_UNAVAILABLE', reason, {}, { cause: error })
    })
    return found
  }

  /** Runs a function in a transaction of its own. @throws Error when the function threw or the commit failed */
  async #now<T extends { written: Written }> (run: () => T): Promise<T> {
    try {
      const result = await this.#env.transact(run)
      this.#history.committed(result.written)
      this.#sweep.wrote(result.written.characters)
      return result
    } catch (error) {
      this.#history.failed()
      throw error
    }
  }

  /** Commits the waiting records, and tries once more if that failed. */
  async close (): Promise<void> {
    this.#closing = true
    this.#gathering?.end()
    this.#retrying?.end()
    await this.#running
    const lost = new Set(this.#open.records.map(({ execution }) => execution.id)).size
    if (lost > 0) this.#log.error({ executions: lost }, 'the history could not be written; these executions are lost')
  }

  async #run (): Promise<void> {
    await undefined // a caller that saves and waits does both in the same turn
    while (this.#open.records.length > 0) {
      if (!this.#open.awaited && !this.#closing) await (this.#gathering = new Pause(gather_ms)).over
      const last = this.#closing
      if (await this.#commitAll()) continue
      if (last) break
      if (!this.#closing) {
        await (this.#retrying = new Pause(Math.min(retryMax_ms, retryMin_ms * 2 ** (this.#failures - 1)))).over
      }
    }
    this.#running = undefined
  }

  /**
   * Commits the open batch, in as many transactions as it needs.
   * @returns false when a transaction failed
   */
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
    if (refused.length === 0) {
      this.#taken?.resolve()
    } else {
      this.#taken?.reject(
        new Error(`${refused.length} executions can't be recorded: ${messageOf(refused[0])}`, { cause: refused[0] })
      )
    }
    this.#taken = undefined
    if (this.#failures > 0) {
      this.#failures = 0
      this.#health.recover()
      this.#log.info({}, 'the history can be written again')
    }
    return true
  }

  #stall (): void {
    const reason = `a commit to ${this.#env.file} takes longer than ${stall_ms / 1000} seconds; try again later`
    this.#reason = reason
    this.#failures++
    this.#log.error({ file: this.#env.file }, reason)
    this.#health.degrade(reason)
    const waiting = this.#taken ?? this.#open
    waiting.reject(new SkilletError('STORAGE_UNAVAILABLE', reason))
  }

  /**
   * Rejects the promises of the callers, and keeps their records for the next commit, before the records saved
   * meanwhile.
   */
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
    // LMDB reports "Input/output error" when the disk took only a part of the bytes, as when it becomes full.
    const remedy = isNoRoom(thrown)
      ? 'make room on that disk, and it goes on'
      : 'look whether that disk is full or broken; it goes on when it can be written'
    const reason = this.#reason = `the history can't be written to ${this.#env.file}: ${messageOf(thrown)}; ${remedy}`
    if (this.#failures++ === 0) {
      this.#log.error(
        { file: this.#env.file, error: messageOf(thrown) },
        'a commit failed; it is tried again until it succeeds'
      )
    }
    this.#health.degrade(reason)
    failed.reject(new SkilletError('STORAGE_UNAVAILABLE', reason, {}, { cause: thrown }))
    // The callers who saved records meanwhile were promised the next commit.
    if (superseded !== undefined) next.promise.then(superseded.resolve, superseded.reject)
  }
}
