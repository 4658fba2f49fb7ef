import { cacheLimits, type Cache } from '../../kernel/index.ts'
import type { Environment } from './environment.ts'

/**
 * The cache contract, in the file of the history: entries by key, and their keys in the order in which they were added.
 */
export class LmdbCache implements Cache {
  readonly #env: Environment
  readonly #entriesMax: number

  /** @param entriesMax the maximum number of entries */
  constructor (env: Environment, entriesMax: number = cacheLimits.entries) {
    this.#env = env
    this.#entriesMax = entriesMax
  }

  async read (keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    checkCount(keys.length)
    return keys.map(key => {
      const value = isKey(key) ? this.#env.cache.get(key) : undefined
      return value === undefined ? undefined : new Uint8Array(value) // lmdb's value may be a view on a larger buffer
    })
  }

  async write (entries: readonly (readonly [key: string, value: Uint8Array])[]): Promise<void> {
    checkCount(entries.length)
    for (const [key, value] of entries) {
      if (!isKey(key)) throw new Error(`a key of the cache has 1 to ${cacheLimits.key_characters} characters`)
      if (value.length > cacheLimits.value_bytes) {
        throw new Error(`a value of the cache has at most ${cacheLimits.value_bytes} bytes`)
      }
    }
    const { cache, cacheOrder, transact } = this.#env
    await transact(() => {
      let [last = 0] = cacheOrder.getKeys({ limit: 1, reverse: true })
      for (const [key, value] of entries) {
        if (cache.get(key) !== undefined) continue
        cache.putSync(key, value)
        cacheOrder.putSync(++last, key)
      }
      // read completely before any entry is removed
      const oldest = Array.from(cacheOrder.getRange({ limit: entries.length }))
      for (const { key: number, value: key } of oldest) {
        if (number > last - this.#entriesMax) break
        cache.removeSync(key)
        cacheOrder.removeSync(number)
      }
    })
  }
}

function checkCount (keys: number): void {
  if (keys > cacheLimits.keys) throw new Error(`the cache takes at most ${cacheLimits.keys} keys at once`)
}

function isKey (key: string): boolean {
  return key.length > 0 && key.length <= cacheLimits.key_characters
}
