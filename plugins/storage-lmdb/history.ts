import { setImmediate } from 'node:timers/promises'
import {
  messageOf, type Execution, type ExecutionSummary, type Logger, type ProcessIdentity, type StoredExecution,
  type UnfinishedExecution
} from '../../kernel/index.ts'
import { readBounds, writeBounds, type Bounds } from './bounds.ts'
import { ChunkEditor } from './columns.ts'
import { putNew, type Environment } from './environment.ts'
import { Names } from './names.ts'
import type { Pruner } from './prune.ts'
import { charactersOf, idPattern, readHead, readStored, readSummary, textsOf, type Texts } from './rows.ts'

/** The result of a transaction of `put`. */
export interface Written {
  /** The number of records that were stored or refused, counted from the first one. */
  count: number
  /** The characters of the stored texts. */
  characters: number
  /** The errors of the records that can't be stored. */
  refused: unknown[]
  /** The sequence numbers of unfinished executions, by id. */
  begun: Map<string, number>
  /** The ids of executions that an earlier transaction stored as unfinished, and that have ended now. */
  ended: string[]
}

/**
 * The limit of records in a transaction: a transaction holds the lock of all processes and runs on the main thread. The
 * remaining records wait for the next transaction.
 */
const recordsMax = 512
const charactersMax = 8 * 1_048_576
/** The limit of records in a transaction of `settle`, which reads, makes and writes each record. */
const endedMax = 256
const endedCharactersMax = 2 * 1_048_576
/** The number of unfinished executions that are checked in one turn of the event loop. */
const unfinishedPerTurn = 256

/** Makes the new record of an unfinished execution; undefined leaves the execution as it is. */
export type Settle = (execution: Execution) => StoredExecution | undefined

/** The records on disk. `put` and `settle` run within a transaction. */
export class History {
  readonly names: Names
  readonly #env: Environment
  readonly #pruner: Pruner
  readonly #log: Logger
  /** The numbers of the unfinished executions that this process committed, so that they need no look-up. */
  readonly #sequences = new Map<string, number>()

  constructor (env: Environment, pruner: Pruner, log: Logger) {
    this.#env = env
    this.#pruner = pruner
    this.#log = log
    this.names = new Names(env)
  }

  bounds (): Bounds {
    return readBounds(this.#env)
  }

  get (id: string): StoredExecution | undefined {
    const sequence = idPattern.test(id) ? this.#env.ids.get(id) : undefined
    return sequence === undefined ? undefined : this.read(Number(sequence))
  }

  summary (sequence: number): ExecutionSummary | undefined {
    const row = this.#env.executions.get(sequence)
    return row === undefined ? undefined : readSummary(row)
  }

  /** The sequence numbers of executions that were set aside, from a number downwards. */
  aside (from: number, limit: number, offset = 0): Iterable<number> {
    return this.#env.aside.getKeys({ start: from, reverse: true, limit, offset })
  }

  async unfinished (): Promise<UnfinishedExecution[]> {
    const unfinished: UnfinishedExecution[] = []
    for (let after: string | undefined; ;) {
      const from = after === undefined ? {} : { start: after, exclusiveStart: true }
      const entries = Array.from(this.#env.unfinished.getRange({ limit: unfinishedPerTurn, ...from }))
      for (const { key: id, value } of entries) {
        const owner = this.#ownerOf(Number(value))
        if (owner !== null) unfinished.push({ id, owner })
      }
      after = entries.at(-1)?.key
      if (after === undefined) return unfinished
      await setImmediate()
    }
  }

  /**
   * Changes executions, from the first one on, until the transaction is full. An execution is changed only if it is
   * still unfinished and still has the same owner.
   * @returns how many were processed, the ids of the executions that it changed, and the value for `committed`
   */
  settle (
    unfinished: readonly UnfinishedExecution[], settle: Settle
  ): { seen: number, settled: string[], written: Written } {
    const records: StoredExecution[] = []
    const places: number[] = [] // the index of each record in `unfinished`
    const ids = new Set<string>()
    let seen = 0
    let characters = 0
    for (const { id, owner } of unfinished) {
      if (records.length >= endedMax || characters >= endedCharactersMax) break
      seen++
      if (ids.has(id)) continue
      ids.add(id)
      const stored = this.get(id)
      if (stored === undefined || stored.owner?.pid !== owner.pid || stored.owner.started !== owner.started) continue
      const record = settle(stored.execution)
      if (record === undefined) continue
      places.push(seen - 1)
      records.push(record)
      characters += charactersOf(record)
    }
    const written = this.put(records)
    const settled = records.slice(0, written.count).map(({ execution }) => execution.id)
    return { seen: places[written.count] ?? seen, settled, written }
  }

  /**
   * Stores records, from the first one on, until the transaction is full; then removes the oldest executions above the
   * limits.
   */
  put (records: readonly StoredExecution[]): Written {
    const bounds = this.bounds()
    const { first, last, aside } = bounds
    const written: Written = { count: 0, characters: 0, refused: [], begun: new Map(), ended: [] }
    const chunks = new ChunkEditor(this.#env)
    this.names.refresh()
    this.#checkHighest(last)
    for (const stored of records) {
      if (written.count >= recordsMax || written.characters >= charactersMax) break
      written.count++
      const { execution, owner } = stored
      const { id } = execution
      let texts
      try {
        if (!idPattern.test(id)) throw new TypeError('not an execution id')
        texts = textsOf(stored)
      } catch (error) {
        const fields = { execution_id: id, error: messageOf(error) }
        this.#log.error(fields, 'an execution is not plain JSON and was not recorded')
        written.refused.push(error)
        continue
      }
      written.characters += texts.row.length + (texts.details?.length ?? 0)
      const sequence = this.#place(id, stored, texts, bounds)
      if (sequence >= bounds.first) {
        chunks.set(sequence, execution, this.names.numberOf(execution.skill_name, execution.tool_name))
      }
      if (owner !== null) {
        written.begun.set(id, sequence)
        continue
      }
      if (written.begun.size > 0) written.begun.delete(id) // the execution was saved twice since the last commit
      if (this.#sequenceOf(id) !== undefined) written.ended.push(id)
    }
    chunks.write()
    this.#pruner.afterAdding(bounds, bounds.last - last)
    if (bounds.first !== first || bounds.last !== last || bounds.aside !== aside) writeBounds(this.#env, bounds)
    return written
  }

  /**
   * Checks that no higher number exists: LMDB would drop an appended record without an error.
   * @throws Error when there is a number above the last one
   */
  #checkHighest (last: number): void {
    for (const highest of this.#env.executions.getKeys({ reverse: true, limit: 1 })) {
      if (highest > last) {
        throw new Error(`${this.#env.file} is damaged: execution ${highest} stands past the last, ${last}`)
      }
    }
  }

  /** Must be called when the transaction of `put` is committed. */
  committed ({ begun, ended }: Written): void {
    for (const [id, sequence] of begun) this.#sequences.set(id, sequence)
    for (const id of ended) this.#sequences.delete(id)
  }

  /** Must be called when the transaction of `put` failed. */
  failed (): void {
    this.names.forget()
  }

  #ownerOf (sequence: number): ProcessIdentity | null {
    const row = this.#env.executions.get(sequence)
    return row === undefined ? null : readHead(row).owner
  }

  /** The whole record with a sequence number. */
  read (sequence: number): StoredExecution | undefined {
    return readStored(this.#env, sequence)
  }

  /**
   * The sequence number of an execution that an earlier transaction stored as unfinished. The look-up is skipped for an
   * empty table, since it would hash the id.
   */
  #sequenceOf (id: string): number | undefined {
    return this.#sequences.size === 0 ? undefined : this.#sequences.get(id)
  }

  /**
   * Writes a record at its own number, or at the next free one. The entry of an execution that was set aside is removed
   * when the execution has ended.
   * @returns its sequence number
   */
  #place (id: string, { owner }: StoredExecution, { row, details }: Texts, bounds: Bounds): number {
    const { executions, ids, unfinished, cancels } = this.#env
    const next = bounds.last + 1
    // Most records are new: writing without a look-up first is cheaper.
    let sequence = this.#sequenceOf(id) ?? (putNew(ids, id, String(next)) ? next : Number(ids.get(id)))
    if (!(sequence >= bounds.first)) {
      if (this.#isAside(sequence)) {
        if (owner === null) {
          this.#pruner.removeAside(bounds, sequence, id)
          return sequence
        }
      } else { // another process has ended and pruned it
        sequence = next
        ids.putSync(id, String(next))
      }
    }
    const isNew = sequence === next
    if (isNew) {
      bounds.last = next
      // `append` fills pages completely and needs no search for the position.
      executions.putSync(sequence, row, { append: true })
    } else executions.putSync(sequence, row)
    if (details !== undefined) this.#env.details.putSync(sequence, details)
    else if (!isNew) this.#env.details.removeSync(sequence)
    if (owner !== null) unfinished.putSync(id, String(sequence))
    else if (!isNew && unfinished.removeSync(id)) cancels.removeSync(id)
    return sequence
  }

  #isAside (sequence: number): boolean {
    return Number.isSafeInteger(sequence) && this.#env.aside.get(sequence) !== undefined
  }
}
