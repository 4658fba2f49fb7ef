import {
  decodeCursor, encodeCursor, recordBytes, refuseTooManyPending, SkilletError, type Execution, type ExecutionFilter,
  type ExecutionPage, type ExecutionQuery, type FoundPage, type KeyedExecution, type ProcessIdentity, type SoughtWord,
  type Storage, type StoredExecution, type UnfinishedExecution
} from '../../kernel/index.ts'
import { matcher, stateOf, type Entry } from './entry.ts'
import { MemoryCache } from './memory-cache.ts'
import { MemoryKeys } from './memory-keys.ts'
import { isSame, MemoryRoles } from './memory-roles.ts'
import { recordsOf, scan, visit, withWords } from './visit.ts'

/** The limits in memory, even where the configuration allows more on a disk. */
const executionsMax = 100_000
const bytesMax = 256 * 1_048_576
const day_ms = 86_400_000

/** A store in memory with the same behaviour as one on disk: a saved record becomes visible at the next commit. */
export class MemoryStorage extends MemoryRoles implements Storage {
  readonly cache = new MemoryCache()
  readonly #executionsMax: number
  readonly #daysMax: number
  readonly #bytesMax: number
  readonly #byId = new Map<string, Entry>()
  /** The numbers are dense from `#first` to `#last`; below are the unfinished executions that pruning skipped. */
  readonly #bySequence = new Map<number, Entry>()
  readonly #unfinished = new Map<string, Entry>()
  readonly #cancelRequests = new Set<string>()
  readonly #keys: MemoryKeys
  #pending = new Map<string, StoredExecution>()
  #pendingBytes = 0
  #commit: Promise<void> | undefined
  #first = 1
  #last = 0
  #bytes = 0

  /**
   * @param history_executions_max the maximum number of executions, and never more than 100,000
   * @param history_days_max the days that an execution is kept
   * @param history_bytes_max the maximum bytes of all executions as JSON, and never more than 256 MiB; 0: 256 MiB
   * @param idempotency_keys_max the maximum number of idempotency keys
   */
  constructor (
    history_executions_max: number, history_days_max: number, history_bytes_max: number, idempotency_keys_max: number
  ) {
    super()
    this.#keys = new MemoryKeys(idempotency_keys_max)
    this.#executionsMax = Math.min(history_executions_max, executionsMax)
    this.#daysMax = history_days_max
    this.#bytesMax = Math.min(history_bytes_max || bytesMax, bytesMax)
  }

  admit (): void {
    refuseTooManyPending(this.#pending.size, this.#pendingBytes)
  }

  save (stored: StoredExecution): void {
    this.#pending.set(stored.execution.id, stored)
    this.#pendingBytes += recordBytes(stored.execution)
    this.#commit ??= new Promise(resolve => {
      setImmediate(() => {
        this.#apply()
        resolve()
      })
    })
  }

  async commit (): Promise<void> {
    await this.#commit
  }

  async get (id: string): Promise<StoredExecution | undefined> {
    const pending = this.#pending.get(id)
    const text = pending === undefined ? this.#byId.get(id)?.text : JSON.stringify(pending)
    return text === undefined ? undefined : JSON.parse(text) as StoredExecution // written by #apply
  }

  async list (query: ExecutionQuery): Promise<ExecutionPage> {
    return this.#page(query)
  }

  async find (words: readonly SoughtWord[], query: ExecutionQuery): Promise<FoundPage> {
    this.#apply()
    const found = await withWords(this.#all(), words, query)
    return { ...this.#page(query, entry => found.has(entry)), unindexed: 0 }
  }

  /** @param isFound what an entry must fulfil beside the filters */
  #page (query: ExecutionQuery, isFound?: (entry: Entry) => boolean): ExecutionPage {
    const from = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
    this.#apply()
    if (from !== undefined && from > this.#last) {
      throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor: query.cursor })
    }
    const matches = isFound ?? matcher(query)
    const top = Math.min(this.#last, (from ?? Number.POSITIVE_INFINITY) - 1)
    const page = matches === undefined ? this.#slice(query, top) : scan(this.#all(), query, top, matches)
    const last = page.entries.length > query.limit ? page.entries[query.limit - 1] : undefined
    return {
      executions: page.entries.slice(0, query.limit).map(({ summary }) => ({ ...summary })),
      total: page.total,
      ...(last !== undefined && { next_cursor: encodeCursor(last.sequence) })
    }
  }

  async visit (...[filter, visitorOf]: Parameters<Storage['visit']>): Promise<void> {
    this.#apply()
    visit(this.#all(), filter, visitorOf)
  }

  async * records (filter: ExecutionFilter): AsyncGenerator<Execution, void, undefined> {
    this.#apply()
    yield * recordsOf(Array.from(this.#all()).toReversed(), filter)
  }

  async unfinished (): Promise<UnfinishedExecution[]> {
    this.#apply()
    return [...this.#unfinished].flatMap(([id, { owner }]) => owner === null ? [] : [{ id, owner: { ...owner } }])
  }

  async endUnfinished (
    unfinished: readonly UnfinishedExecution[],
    end: (execution: Execution) => Execution | undefined
  ): Promise<string[]> {
    return this.#settle(unfinished, present => {
      const execution = end(present)
      return execution === undefined ? undefined : { execution, owner: null }
    }).map(({ id }) => id)
  }

  async takeOver (
    unfinished: readonly UnfinishedExecution[],
    owner: ProcessIdentity,
    mayTake: (execution: Execution) => boolean
  ): Promise<Execution[]> {
    return this.#settle(unfinished, execution => mayTake(execution) ? { execution, owner } : undefined)
  }

  async saveOnce (key: string, keyed: KeyedExecution, stored: StoredExecution): Promise<KeyedExecution | undefined> {
    const known = this.#keys.claim(key, keyed)
    if (known !== undefined) return known
    this.save(stored)
    this.#apply()
    return undefined
  }

  /** Changes unfinished executions. @returns the records of those that changed */
  #settle (
    unfinished: readonly UnfinishedExecution[], settle: (execution: Execution) => StoredExecution | undefined
  ): Execution[] {
    this.#apply()
    const settled: Execution[] = []
    for (const { id, owner } of unfinished) {
      const entry = this.#unfinished.get(id)
      if (entry === undefined || entry.owner === null || !isSame(entry.owner, owner) || this.#pending.has(id)) continue
      const { execution } = JSON.parse(entry.text) as StoredExecution // written by #apply
      const record = settle(execution)
      if (record === undefined) continue
      this.#pending.set(id, record)
      settled.push(record.execution)
    }
    this.#apply()
    return settled
  }

  async requestCancel (id: string): Promise<void> {
    this.#apply()
    if (this.#unfinished.has(id)) this.#cancelRequests.add(id)
  }

  cancelRequests (): string[] {
    return [...this.#cancelRequests]
  }

  /** Removes the oldest executions above the limits; an unfinished execution is skipped, and removed when it ends. */
  prune (): void {
    this.#keys.prune()
    const created_min_ms = Date.now() - this.#daysMax * day_ms
    const oldestOf = (): Entry | undefined => this.#bySequence.get(this.#first)
    for (let oldest = oldestOf(); oldest !== undefined; oldest = oldestOf()) {
      const tooMany = this.#last - this.#first >= this.#executionsMax || this.#bytes > this.#bytesMax
      if (!tooMany && oldest.created_ms >= created_min_ms) return
      this.#first++
      if (oldest.owner === null) this.#forget(oldest)
    }
  }

  #forget ({ sequence, summary, bytes }: Entry): void {
    this.#bySequence.delete(sequence)
    this.#byId.delete(summary.id)
    this.#bytes -= bytes
  }

  /** Makes all saved records visible. */
  #apply (): void {
    this.#commit = undefined
    const pending = this.#pending
    if (pending.size === 0) return
    this.#pending = new Map()
    this.#pendingBytes = 0
    for (const [id, stored] of pending) {
      let entry = this.#byId.get(id)
      const state = stateOf(stored)
      if (entry === undefined) {
        entry = { sequence: ++this.#last, ...state }
        this.#byId.set(id, entry)
        this.#bySequence.set(entry.sequence, entry)
      } else {
        this.#bytes -= entry.bytes
        Object.assign(entry, state)
      }
      this.#bytes += state.bytes
      if (state.owner !== null) this.#unfinished.set(id, entry)
      else {
        if (this.#unfinished.delete(id)) this.#cancelRequests.delete(id)
        if (entry.sequence < this.#first) this.#forget(entry)
      }
    }
    this.prune()
  }

  /** The entries of a page, with one more than the limit if there is one, from a sequence number downwards. */
  #slice ({ limit, offset }: ExecutionQuery, top: number): { entries: Entry[], total: number } {
    const entries: Entry[] = []
    for (let sequence = top - offset; sequence >= this.#first && entries.length <= limit; sequence--) {
      const entry = this.#bySequence.get(sequence)
      if (entry !== undefined) entries.push(entry)
    }
    const skip = Math.max(offset - Math.max(top - this.#first + 1, 0), 0)
    const aside = this.#aside().filter(({ sequence }) => sequence <= top)
    return {
      entries: [...entries, ...aside.slice(skip, skip + limit + 1 - entries.length)],
      total: this.#bySequence.size
    }
  }

  /** The unfinished executions that pruning skipped, newest first. */
  #aside (): Entry[] {
    return [...this.#unfinished.values()].filter(({ sequence }) => sequence < this.#first)
      .toSorted((a, b) => b.sequence - a.sequence)
  }

  /** All entries, newest first. */
  * #all (): Iterable<Entry> {
    for (let sequence = this.#last; sequence >= this.#first; sequence--) {
      const entry = this.#bySequence.get(sequence)
      if (entry !== undefined) yield entry
    }
    yield * this.#aside()
  }
}
