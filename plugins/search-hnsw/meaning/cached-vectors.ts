import { cacheLimits, messageOf, type Cache, type Logger } from '../../../kernel/index.ts'

/** The vectors of tools in the storage's cache. Nothing rejects: what is not there is made again. */
export class CachedVectors {
  readonly #cache: Cache
  readonly #log: Logger

  constructor (cache: Cache, log: Logger) {
    this.#cache = cache
    this.#log = log
  }

  /** @returns the vector of each key; undefined or missing where there is none */
  async read (keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    try {
      return await this.#cache.read(keys.slice(0, cacheLimits.keys))
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'kept vectors could not be read; they are made again')
      return []
    }
  }

  async keep (entries: Parameters<Cache['write']>[0]): Promise<void> {
    try {
      await this.#cache.write(entries)
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'vectors could not be kept; they will be made again')
    }
  }
}
