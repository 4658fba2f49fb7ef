import { SkilletError, type KeyedExecution } from '../../kernel/index.ts'
import { entriesIn, type Environment } from './environment.ts'

/** How many keys that have expired are removed with each key that is added. */
const pruneWithEach = 4
/** How many keys a transaction of the sweep removes. */
const pruneSweep = 512

/** A key's entry: the execution, the fingerprint of its request, the expiry, and its number in `keysOrder`. */
type Entry = [execution_id: string, fingerprint: string, expires_ms: number, number: number]

/** The idempotency keys, in the file of the history. */
export class Keys {
  readonly #env: Environment
  readonly #keysMax: number

  /** @param keysMax the maximum number of keys */
  constructor (env: Environment, keysMax: number) {
    this.#env = env
    this.#keysMax = keysMax
  }

  /**
   * Makes a key stand for an execution, unless it stands for another one. Within a transaction.
   * @returns what it stands for already
   * @throws SkilletError OVERLOADED when there are too many keys
   */
  claim (key: string, { execution_id, fingerprint, expires_ms }: KeyedExecution): KeyedExecution | undefined {
    const { keys, keysOrder } = this.#env
    const known = readEntry(keys.get(key))
    if (known !== undefined && known[2] > Date.now()) {
      return { execution_id: known[0], fingerprint: known[1], expires_ms: known[2] }
    }
    if (known !== undefined) {
      keys.removeSync(key)
      keysOrder.removeSync(known[3])
    }
    this.#prune(pruneWithEach)
    if (entriesIn(keys) >= this.#keysMax) {
      const limit = `storage.idempotency_keys_max allows ${this.#keysMax} idempotency keys at once, and all are in use`
      throw new SkilletError('OVERLOADED', `${limit}; try again later, or call without a key`)
    }
    const [last = 0] = keysOrder.getKeys({ limit: 1, reverse: true })
    const entry: Entry = [execution_id, fingerprint, expires_ms, last + 1]
    keys.putSync(key, JSON.stringify(entry))
    keysOrder.putSync(last + 1, key)
    return undefined
  }

  /** Whether the oldest key has expired. */
  hasExpired (): boolean {
    for (const { value: key } of this.#env.keysOrder.getRange({ limit: 1 })) return this.#isExpired(key)
    return false
  }

  /** Removes some hundred keys that have expired. Within a transaction. */
  sweep (): void {
    this.#prune(pruneSweep)
  }

  /** Removes the oldest keys, up to the first one that has not expired. */
  #prune (count: number): void {
    const { keys, keysOrder } = this.#env
    // read completely before any entry is removed
    for (const { key: number, value: key } of Array.from(keysOrder.getRange({ limit: count }))) {
      if (!this.#isExpired(key)) return
      keys.removeSync(key)
      keysOrder.removeSync(number)
    }
  }

  #isExpired (key: string): boolean {
    const entry = readEntry(this.#env.keys.get(key))
    return entry === undefined || entry[2] <= Date.now()
  }
}

function readEntry (text: string | undefined): Entry | undefined {
  return text === undefined ? undefined : JSON.parse(text) as Entry // written by `claim`
}
