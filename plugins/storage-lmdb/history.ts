import { setImmediate } from 'node:timers/promises'
import {
  messageOf, recordBytes, type Execution, type ExecutionSummary, type Logger, type ProcessIdentity, type StoredExecution, type UnfinishedExecution
} from '../../kernel/index.ts'
import { readBounds, writeBounds, type Bounds } from './bounds.ts'
import { ChunkEditor } from './columns.ts'
import { putNew, type Environment } from './environment.ts'
import { Names } from './names.ts'
import type { Pruner } from './prune.ts'
import { readHead, readRecord, readSummary, textsOf, type Texts } from './rows.ts'

/** What a transaction of `put` did. */
export interface Written {
  /** So many, of those given, are done with, whether stored or refused. */
  count: number
  /** Of the texts that were stored. */
  characters: number
  /** Why records can't be stored. */
  refused: unknown[]
  /** Sequence numbers of unfinished executions. */
  begun: Map<string, number>
  /** Of those that an earlier transaction found unfinished: they are no more. */
  ended: string[]
}

/**
 * A transaction holds the lock of all processes and runs on the main thread: it takes this much, and the rest waits for
 * the next.
 */
const recordsMax = 512
const charactersMax = 8 * 1_048_576
/** A transaction of `end` takes less: it reads, makes and writes each record. */
const endedMax = 256
const endedCharactersMax = 2 * 1_048_576
/** Unfinished executions that are looked at in one turn of the event loop. */
const unfinishedPerTurn = 256

/** Execution ids are UUIDs; whatever else is asked for is not there. */
const idPattern = /^[\x21-\x7e]{1,128}$/

/** Makes the final record of one that is not. */
export type EndRecord = (execution: Execution) => Execution

/** The records on disk. `put` and `end` run within a transaction. */
export class History {
  readonly names: Names
  readonly #env: Environment
  readonly #pruner: Pruner
  readonly #log: Logger
  /** Of the unfinished executions that this process committed: spares looking their numbers up. */
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
    return sequence === undefined ? undefined : this.#read(Number(sequence))
  }

  summary (sequence: number): ExecutionSummary | undefined {
    const row = this.#env.executions.get(sequence)
    return row === undefined ? undefined : readSummary(row)
  }

  /** Sequence numbers of executions that were set aside, from one downwards. */
  aside (from: number, limit: number, offset = 0): Iterable<number> {
    return this.#env.aside.getKeys({ start: from, reverse: true, limit, offset })
  }

  async unfinished (): Promise<UnfinishedExecution[]> {
    const found: UnfinishedExecution[] = []
    for (let after: string | undefined; ;) {
      const from = after === undefined ? {} : { start: after, exclusiveStart: true }
      const entries = Array.from(this.#env.unfinished.getRange({ limit: unfinishedPerTurn, ...from }))
      for (const { key: id, value } of entries) {
        const owner = this.#ownerOf(Number(value))
        if (owner !== null) found.push({ id, owner })
      }
      after = entries.at(-1)?.key
      if (after === undefined) return found
      await setImmediate()
    }
  }

  /**
   * Ends executions, from the first on, until the transaction is full: each where it is still unfinished and of that
   * owner. @returns how many were seen to, the ids of those it ended, and what `committed` is to be told
   */
  end (found: readonly UnfinishedExecution[], end: EndRecord): { seen: number, ended: string[], written: Written } {
    const records: StoredExecution[] = []
    const places: number[] = [] // of the records, in `found`
    const ids = new Set<string>()
    let seen = 0
    let characters = 0
    for (const { id, owner } of found) {
      if (records.length >= endedMax || characters >= endedCharactersMax) break
      seen++
      if (ids.has(id)) continue
      ids.add(id)
      const stored = this.get(id)
      if (stored === undefined || stored.owner?.pid !== owner.pid || stored.owner.started !== owner.started) continue
      const record = { execution: end(stored.execution), owner: null }
      places.push(seen - 1)
      records.push(record)
      characters += charactersOf(record)
    }
    const written = this.put(records)
    const ended = records.slice(0, written.count).map(({ execution }) => execution.id)
    return { seen: places[written.count] ?? seen, ended, written }
  }

  /** Stores records, from the first on, until the transaction is full; then removes the oldest that are too many. */
  put (records: readonly StoredExecution[]): Written {
    const bounds = this.bounds()
    const { first, last, aside } = bounds
    const written: Written = { count: 0, characters: 0, refused: [], begun: new Map(), ended: [] }
    const chunks = new ChunkEditor(this.#env)
    this.names.refresh()
    // Appending past a number that is there already would be dropped without a word.
    for (const highest of this.#env.executions.getKeys({ reverse: true, limit: 1 })) {
      if (highest > last) throw new Error(`${this.#env.file} is damaged: execution ${highest} stands past the last, ${last}`)
    }
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
        this.#log.error({ execution_id: id, error: messageOf(error) }, 'an execution is not plain JSON and was not recorded')
        written.refused.push(error)
        continue
      }
      written.characters += texts.row.length + (texts.details?.length ?? 0)
      const sequence = this.#place(id, stored, texts, bounds)
      if (sequence >= bounds.first) chunks.set(sequence, execution, this.names.numberOf(execution.skill_name, execution.tool_name))
      if (owner !== null) {
        written.begun.set(id, sequence)
        continue
      }
      if (written.begun.size > 0) written.begun.delete(id) // it was saved twice since the last commit
      if (this.#sequenceOf(id) !== undefined) written.ended.push(id)
    }
    chunks.write()
    this.#pruner.afterAdding(bounds, bounds.last - last)
    if (bounds.first !== first || bounds.last !== last || bounds.aside !== aside) writeBounds(this.#env, bounds)
    return written
  }

  /** To be told when the transaction of `put` is committed. */
  committed ({ begun, ended }: Written): void {
    for (const [id, sequence] of begun) this.#sequences.set(id, sequence)
    for (const id of ended) this.#sequences.delete(id)
  }

  /** To be told when the transaction of `put` did not come to be. */
  failed (): void {
    this.names.forget()
  }

  #ownerOf (sequence: number): ProcessIdentity | null {
    const row = this.#env.executions.get(sequence)
    return row === undefined ? null : readHead(row).owner
  }

  #read (sequence: number): StoredExecution | undefined {
    const row = this.#env.executions.get(sequence)
    if (row === undefined) return undefined
    const stored = readRecord(row)
    if (stored !== undefined) return stored
    const details = this.#env.details.get(sequence)
    return details === undefined ? undefined : readRecord(details)
  }

  /**
   * Where an earlier transaction put an unfinished execution. To look into an empty table would cost the hash of the
   * id.
   */
  #sequenceOf (id: string): number | undefined {
    return this.#sequences.size === 0 ? undefined : this.#sequences.get(id)
  }

  /**
   * Writes a record in its place, or in the next free one; one that was set aside goes when it has ended.
   * @returns its sequence number
   */
  #place (id: string, { owner }: StoredExecution, { row, details }: Texts, bounds: Bounds): number {
    const { executions, ids, unfinished, cancels } = this.#env
    const next = bounds.last + 1
    // Most are new: to try costs less than to look first.
    let sequence = this.#sequenceOf(id) ?? (putNew(ids, id, String(next)) ? next : Number(ids.get(id)))
    if (!(sequence >= bounds.first)) {
      if (this.#isAside(sequence)) {
        if (owner === null) {
          this.#pruner.removeAside(bounds, sequence, id)
          return sequence
        }
      } else { // another process ended and pruned it
        sequence = next
        ids.putSync(id, String(next))
      }
    }
    const isNew = sequence === next
    if (isNew) {
      bounds.last = next
      // `append` fills pages to the brim and spares the search for the place.
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

/** About as much as its texts will have. */
function charactersOf ({ execution }: StoredExecution): number {
  return recordBytes(execution) / 2
}
