import { messageOf, type ExecutionSummary, type Logger, type StoredExecution } from '../../kernel/index.ts'
import { ChunkEditor, chunkLength, chunkOf } from './columns.ts'
import { putNew, type Environment } from './environment.ts'
import { Names } from './names.ts'
import { readOldest, readRecord, readSummary, textsOf, type Texts } from './rows.ts'

/** The sequence numbers in use, without a gap; empty when `last` is below `first`. */
export interface Bounds { first: number, last: number }

export interface Limits { executions_max: number, days_max: number }

/** What a transaction of `put` did. */
export interface Written {
  /** So many, of those given, are done with, whether stored or refused. */
  count: number
  /** Why records can't be stored. */
  refused: unknown[]
  /** Sequence numbers of unfinished executions. */
  begun: Map<string, number>
  /** Of those that an earlier transaction found unfinished: they are no more. */
  ended: string[]
}

/** A transaction holds the lock of all processes and runs on the main thread: it takes this much, and the rest waits for the next. */
const recordsMax = 512
const charactersMax = 8 * 1_048_576
/** Executions removed by a commit beyond those it adds, and by a transaction of the sweep. */
const pruneExtra = 16
const pruneSweep = 512
const day_ms = 86_400_000

/** Execution ids are UUIDs; whatever else is asked for is not there. */
const idPattern = /^[\x21-\x7e]{1,128}$/

/** The records on disk. `put` and `prune` run within a transaction. */
export class History {
  readonly names: Names
  readonly #env: Environment
  readonly #limits: Limits
  readonly #log: Logger
  /** Of the unfinished executions that this process committed: spares looking their numbers up. */
  readonly #sequences = new Map<string, number>()

  constructor (env: Environment, limits: Limits, log: Logger) {
    this.#env = env
    this.#limits = limits
    this.#log = log
    this.names = new Names(env)
  }

  bounds (): Bounds {
    const text = this.#env.meta.get('bounds')
    if (text === undefined) return { first: 1, last: 0 }
    const [first = Number.NaN, last = Number.NaN] = text.split(' ').map(Number)
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) throw new Error(`${this.#env.file} is damaged: its bounds are "${text}"`)
    return { first, last }
  }

  get (id: string): StoredExecution | undefined {
    const sequence = idPattern.test(id) ? this.#env.ids.get(id) : undefined
    return sequence === undefined ? undefined : this.#read(Number(sequence))
  }

  summary (sequence: number): ExecutionSummary | undefined {
    const row = this.#env.executions.get(sequence)
    return row === undefined ? undefined : readSummary(row)
  }

  unfinished (): StoredExecution[] {
    return [...this.#env.unfinished.getRange({})].flatMap(({ value }) => this.#read(Number(value)) ?? [])
  }

  /** Stores records, from the first on, until the transaction is full; then removes the oldest that are too many. */
  put (records: readonly StoredExecution[]): Written {
    const bounds = this.bounds()
    const { first, last } = bounds
    const written: Written = { count: 0, refused: [], begun: new Map(), ended: [] }
    const chunks = new ChunkEditor(this.#env)
    this.names.refresh()
    // Appending past a number that is there already would be dropped without a word.
    for (const highest of this.#env.executions.getKeys({ reverse: true, limit: 1 })) {
      if (highest > last) throw new Error(`${this.#env.file} is damaged: execution ${highest} stands past the last, ${last}`)
    }
    let characters = 0
    for (const stored of records) {
      if (written.count >= recordsMax || characters >= charactersMax) break
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
      characters += texts.row.length + (texts.details?.length ?? 0)
      const sequence = this.#place(id, stored, texts, bounds)
      chunks.set(sequence, execution, this.names.numberOf(execution.skill_name, execution.tool_name))
      if (owner !== null) {
        written.begun.set(id, sequence)
        continue
      }
      if (written.begun.size > 0) written.begun.delete(id) // it was saved twice since the last commit
      if (this.#sequenceOf(id) !== undefined) written.ended.push(id)
    }
    chunks.write()
    this.#prune(bounds, bounds.last - last + pruneExtra, Number.NEGATIVE_INFINITY)
    if (bounds.first !== first || bounds.last !== last) this.#setBounds(bounds)
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

  /** Whether the oldest execution is one too many, or too old, and has ended. */
  hasTooMany (): boolean {
    const { first, last } = this.bounds()
    const row = this.#env.executions.get(first)
    if (row === undefined) return false
    const { created_ms, unfinished } = readOldest(row)
    return !unfinished && (last - first >= this.#limits.executions_max || created_ms < this.#oldest_ms())
  }

  /** Removes the oldest executions that are too many or too old, some hundred at most. */
  sweep (): void {
    const bounds = this.bounds()
    const { first } = bounds
    this.#prune(bounds, pruneSweep, this.#oldest_ms())
    if (bounds.first !== first) this.#setBounds(bounds)
  }

  #oldest_ms (): number {
    return Date.now() - this.#limits.days_max * day_ms
  }

  #setBounds ({ first, last }: Bounds): void {
    this.#env.meta.putSync('bounds', `${first} ${last}`)
  }

  #read (sequence: number): StoredExecution | undefined {
    const row = this.#env.executions.get(sequence)
    if (row === undefined) return undefined
    const stored = readRecord(row)
    if (stored !== undefined) return stored
    const details = this.#env.details.get(sequence)
    return details === undefined ? undefined : readRecord(details)
  }

  /** Where an earlier transaction put an unfinished execution. To look into an empty table would cost the hash of the id. */
  #sequenceOf (id: string): number | undefined {
    return this.#sequences.size === 0 ? undefined : this.#sequences.get(id)
  }

  /** Writes a record in its place, or in the next free one. @returns its sequence number */
  #place (id: string, { owner }: StoredExecution, { row, details }: Texts, bounds: Bounds): number {
    const { executions, ids, unfinished, cancels } = this.#env
    const next = bounds.last + 1
    // Most are new: to try costs less than to look first.
    let sequence = this.#sequenceOf(id) ?? (putNew(ids, id, String(next)) ? next : Number(ids.get(id)))
    if (!(sequence >= bounds.first)) { // another process ended and pruned it
      sequence = next
      ids.putSync(id, String(next))
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

  /** Removes the oldest, at most `budget`; an unfinished one ends it, so that the numbers stay dense. Changes `bounds.first`. */
  #prune (bounds: Bounds, budget: number, oldest_ms: number): void {
    const { executions, details, ids, columns } = this.#env
    for (let left = budget; left > 0 && bounds.first <= bounds.last; left--) {
      const tooMany = bounds.last - bounds.first >= this.#limits.executions_max
      if (!tooMany && oldest_ms === Number.NEGATIVE_INFINITY) return
      const { first } = bounds
      const row = executions.get(first)
      if (row === undefined) throw new Error(`${this.#env.file} is damaged: execution ${first} is missing`)
      const { id, created_ms, unfinished, hasDetails } = readOldest(row)
      if (unfinished || (!tooMany && created_ms >= oldest_ms)) return
      executions.removeSync(first)
      ids.removeSync(id)
      if (hasDetails) details.removeSync(first)
      bounds.first++
      if (bounds.first % chunkLength === 0) columns.removeSync(chunkOf(first))
    }
  }
}
