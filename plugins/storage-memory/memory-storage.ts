import {
  decodeCursor, encodeCursor, filteredTotalMax, recordBytes, refuseTooManyPending, SkilletError, type Lease,
  type Execution, type ExecutionPage, type ExecutionQuery, type ProcessIdentity, type Storage, type StoredExecution,
  type UnfinishedExecution
} from '../../kernel/index.ts'
import { matcher, stateOf, type Entry } from './entry.ts'
import { MemoryCache } from './memory-cache.ts'

/** The limits in memory, even where the configuration allows more on a disk. */
const executionsMax = 100_000
const bytesMax = 256 * 1_048_576
const day_ms = 86_400_000

/** A store in memory with the same behaviour as one on disk: a saved record becomes visible at the next commit. */
export class MemoryStorage implements Storage {
  readonly cache = new MemoryCache()
  readonly #executionsMax: number
  readonly #daysMax: number
  readonly #bytesMax: number
  readonly #byId = new Map<string, Entry>()
  /** The numbers are dense from `#first` to `#last`; below are the unfinished executions that pruning skipped. */
  readonly #bySequence = new Map<number, Entry>()
  readonly #unfinished = new Map<string, Entry>()
  readonly #cancelRequests = new Set<string>()
  readonly #claims = new Map<string, Lease>()
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
   */
  constructor (history_executions_max: number, history_days_max: number, history_bytes_max: number) {
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
    const from = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
    this.#apply()
    if (from !== undefined && from > this.#last) {
      throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor: query.cursor })
    }
    const matches = matcher(query)
    const top = Math.min(this.#last, (from ?? Number.POSITIVE_INFINITY) - 1)
    const page = matches === undefined ? this.#slice(query, top) : this.#scan(query, top, matches)
    const last = page.entries.length > query.limit ? page.entries[query.limit - 1] : undefined
    return {
      executions: page.entries.slice(0, query.limit).map(({ summary }) => ({ ...summary })),
      total: page.total,
      ...(last !== undefined && { next_cursor: encodeCursor(last.sequence) })
    }
  }

  async unfinished (): Promise<UnfinishedExecution[]> {
    this.#apply()
    return [...this.#unfinished].flatMap(([id, { owner }]) => owner === null ? [] : [{ id, owner: { ...owner } }])
  }

  async endUnfinished (
    unfinished: readonly UnfinishedExecution[],
    end: (execution: Execution) => Execution
  ): Promise<string[]> {
    this.#apply()
    const ids: string[] = []
    for (const { id, owner } of unfinished) {
      const entry = this.#unfinished.get(id)
      if (entry === undefined || entry.owner === null || !isSame(entry.owner, owner) || this.#pending.has(id)) continue
      const { execution } = JSON.parse(entry.text) as StoredExecution // written by #apply
      this.#pending.set(id, { execution: end(execution), owner: null })
      ids.push(id)
    }
    this.#apply()
    return ids
  }

  async requestCancel (id: string): Promise<void> {
    this.#apply()
    if (this.#unfinished.has(id)) this.#cancelRequests.add(id)
  }

  cancelRequests (): string[] {
    return [...this.#cancelRequests]
  }

  async claim (role: string, claim: Lease, isAlive: (owner: ProcessIdentity) => boolean): Promise<Lease | undefined> {
    const holder = this.#claims.get(role)
    if (holder !== undefined && !isSame(holder.owner, claim.owner) && isAlive(holder.owner)) {
      return structuredClone(holder)
    }
    this.#claims.set(role, structuredClone(claim))
    return undefined
  }

  async holder (role: string): Promise<Lease | undefined> {
    return structuredClone(this.#claims.get(role))
  }

  async release (role: string, owner: ProcessIdentity): Promise<void> {
    const holder = this.#claims.get(role)
    if (holder !== undefined && isSame(holder.owner, owner)) this.#claims.delete(role)
  }

  /** Removes the oldest executions above the limits; an unfinished execution is skipped, and removed when it ends. */
  prune (): void {
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

  #scan (
    { limit, offset }: ExecutionQuery,
    top: number,
    matches: (entry: Entry) => boolean
  ): { entries: Entry[], total: number } {
    const entries: Entry[] = []
    let total = 0
    let skip = offset
    for (const entry of this.#all()) {
      if (entries.length > limit && total >= filteredTotalMax) break
      if (!matches(entry)) continue
      if (total < filteredTotalMax) total++
      if (entry.sequence > top || skip-- > 0) continue
      if (entries.length <= limit) entries.push(entry)
    }
    return { entries, total }
  }
}

function isSame (a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started
}
