import { cacheLimits, type Cache } from '../../kernel/index.ts'

/** The cache contract, in memory. */
export class MemoryCache implements Cache {
  readonly #values = new Map<string, Uint8Array>()
  readonly #entriesMax: number

  /** @param entriesMax the maximum number of entries */
  constructor (entriesMax: number = cacheLimits.entries) {
    this.#entriesMax = entriesMax
  }

  async read (keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    checkCount(keys.length)
    return keys.map(key => this.#values.get(key)?.slice())
  }

  async write (entries: readonly (readonly [key: string, value: Uint8Array])[]): Promise<void> {
    checkCount(entries.length)
    for (const [key, value] of entries) {
      if (key.length === 0 || key.length > cacheLimits.key_characters) {
        throw new Error(`a key of the cache has 1 to ${cacheLimits.key_characters} characters`)
      }
      if (value.length > cacheLimits.value_bytes) {
        throw new Error(`a value of the cache has at most ${cacheLimits.value_bytes} bytes`)
      }
    }
    for (const [key, value] of entries) if (!this.#values.has(key)) this.#values.set(key, value.slice())
    for (const key of this.#values.keys()) {
      if (this.#values.size <= this.#entriesMax) break
      this.#values.delete(key)
    }
  }
}

function checkCount (keys: number): void {
  if (keys > cacheLimits.keys) throw new Error(`the cache takes at most ${cacheLimits.keys} keys at once`)
}
