import { SkilletError, type KeyedExecution } from '../../kernel/index.ts'

/** The idempotency keys, in memory. */
export class MemoryKeys {
  /** In the order in which the keys were added. */
  readonly #keys = new Map<string, KeyedExecution>()
  readonly #keysMax: number

  /** @param keysMax the maximum number of keys */
  constructor (keysMax: number) {
    this.#keysMax = keysMax
  }

  /**
   * Makes a key stand for an execution, unless it stands for another one.
   * @returns what it stands for already
   * @throws SkilletError OVERLOADED when there are too many keys
   */
  claim (key: string, keyed: KeyedExecution): KeyedExecution | undefined {
    const known = this.#keys.get(key)
    if (known !== undefined && known.expires_ms > Date.now()) return { ...known }
    this.#keys.delete(key)
    this.prune()
    if (this.#keys.size >= this.#keysMax) {
      const limit = `storage.idempotency_keys_max allows ${this.#keysMax} idempotency keys at once, and all are in use`
      throw new SkilletError('OVERLOADED', `${limit}; try again later, or call without a key`)
    }
    this.#keys.set(key, { ...keyed })
    return undefined
  }

  /** Removes the oldest keys, up to the first one that has not expired. */
  prune (): void {
    const now_ms = Date.now()
    for (const [key, { expires_ms }] of this.#keys) {
      if (expires_ms > now_ms) return
      this.#keys.delete(key)
    }
  }
}
