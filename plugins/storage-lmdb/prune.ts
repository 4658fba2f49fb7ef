import { readBounds, writeBounds, type Bounds } from './bounds.ts'
import { chunkLength, chunkOf } from './columns.ts'
import { bytesUsed, type Environment } from './environment.ts'
import { readHead } from './rows.ts'

export interface Limits {
  executions_max: number
  days_max: number
  /** The limit of the bytes of pages that executions use, including their ids and columns; 0: no limit. */
  bytes_max: number
}

/** For files into which a history is copied whole. */
export const noLimits: Limits = {
  executions_max: Number.POSITIVE_INFINITY, days_max: Number.POSITIVE_INFINITY, bytes_max: 0
}

/** The number of executions that a commit removes beyond those it adds, and that a transaction of the sweep removes. */
const pruneExtra = 16
const pruneSweep = 512
/** The maximum number of times that a transaction measures the bytes; each takes a fifth of a millisecond. */
const looksPerSweep = 64
/** The bytes are measured after each large execution that was removed, and after this many small executions. */
const smallPerLook = 32
const day_ms = 86_400_000

/**
 * Removes the oldest executions above the limits. An unfinished execution is set aside, where it stays until it ends.
 */
export class Pruner {
  readonly #env: Environment
  readonly #limits: Limits

  constructor (env: Environment, limits: Limits) {
    this.#env = env
    this.#limits = limits
  }

  /** Whether there are too many executions or too many bytes, or the oldest execution is too old. */
  hasTooMany (): boolean {
    const { first, last } = readBounds(this.#env)
    const row = this.#env.executions.get(first)
    if (row === undefined) return false
    if (last - first >= this.#limits.executions_max || this.#isTooLarge()) return true
    return readHead(row).created_ms < this.#oldest_ms()
  }

  /**
   * When there are too many executions, removes as many as were added and a few more. Within a transaction; changes
   * `bounds`.
   */
  afterAdding (bounds: Bounds, added: number): void {
    for (let left = added + pruneExtra; left > 0 && bounds.last - bounds.first >= this.#limits.executions_max; left--) {
      this.#removeFirst(bounds)
    }
  }

  /** Removes at most some hundred executions. Within a transaction. */
  sweep (): void {
    const bounds = readBounds(this.#env)
    const { first } = bounds
    const oldest_ms = this.#oldest_ms()
    let isTooLarge = this.#isTooLarge()
    let small = 0
    for (let removed = 0, looks = 0; removed < pruneSweep && looks < looksPerSweep; removed++) {
      if (bounds.first > bounds.last) break
      const tooMany = isTooLarge || bounds.last - bounds.first >= this.#limits.executions_max
      if (!tooMany && this.#headOf(bounds.first).created_ms >= oldest_ms) break
      const { hasDetails } = this.#removeFirst(bounds)
      if (!isTooLarge || (!hasDetails && ++small % smallPerLook > 0)) continue
      isTooLarge = this.#isTooLarge()
      looks++
    }
    if (bounds.first !== first) writeBounds(this.#env, bounds)
  }

  /** Removes an execution that was set aside and has ended. Within a transaction; changes `bounds`. */
  removeAside (bounds: Bounds, sequence: number, id: string): void {
    const { aside, unfinished, cancels } = this.#env
    aside.removeSync(sequence)
    bounds.aside--
    unfinished.removeSync(id)
    cancels.removeSync(id)
    this.#remove(sequence, id, true)
  }

  /** Includes the data of all processes that is committed or was written by the transaction. */
  #isTooLarge (): boolean {
    if (this.#limits.bytes_max === 0) return false
    const { executions, details, ids, columns, unfinished, aside } = this.#env
    return bytesUsed([executions, details, ids, columns, unfinished, aside]) > this.#limits.bytes_max
  }

  #oldest_ms (): number {
    return Date.now() - this.#limits.days_max * day_ms
  }

  #headOf (sequence: number): ReturnType<typeof readHead> {
    const row = this.#env.executions.get(sequence)
    if (row === undefined) throw new Error(`${this.#env.file} is damaged: execution ${sequence} is missing`)
    return readHead(row)
  }

  #removeFirst (bounds: Bounds): ReturnType<typeof readHead> {
    const { first } = bounds
    const head = this.#headOf(first)
    const { id, owner, hasDetails } = head
    if (owner === null) this.#remove(first, id, hasDetails)
    else {
      this.#env.aside.putSync(first, id)
      bounds.aside++
    }
    bounds.first++
    if (bounds.first % chunkLength === 0) this.#env.columns.removeSync(chunkOf(first))
    return head
  }

  #remove (sequence: number, id: string, hasDetails: boolean): void {
    const { executions, ids, details } = this.#env
    executions.removeSync(sequence)
    ids.removeSync(id)
    if (hasDetails) details.removeSync(sequence)
  }
}
