import fs, { type Stats } from 'node:fs'
import { messageOf, readKeys, type Logger } from '../../../kernel/index.ts'
import type { Keys } from './keys.ts'

/** How often the file is looked at, in milliseconds: a key that was revoked works no longer than that. */
const look_ms = 1_000
/**
 * How long after a change it is read, in milliseconds: whoever writes a file in place empties it first, which would
 * take all keys away.
 */
const settle_ms = 100

/**
 * Takes the named keys over from the configuration file whenever it changes; a broken file leaves those that are.
 * The file is looked at, rather than watched for events: it is replaced by renaming, and neither it nor its folder
 * need exist when the server starts.
 * @param watch looks at the file, for tests
 * @returns what stops it
 */
export function watchKeys (path: string, keys: Pick<Keys, 'replace' | 'size'>, log: Logger, watch: Pick<typeof fs, 'watchFile' | 'unwatchFile'> = fs): () => void {
  const load = (): void => {
    try {
      keys.replace(readKeys(path))
    } catch (error) {
      log.error({ path, error: messageOf(error).split('\n')[0] }, 'the API keys could not be read; those known stay in force')
    }
  }
  let settling: NodeJS.Timeout | undefined
  const changed = (now: Stats, before: Stats): void => {
    // Told once also when the file was not there at the first look, and still is not.
    if (now.nlink === 0 && before.nlink === 0) return
    clearTimeout(settling)
    settling = setTimeout(() => {
      load()
      log.info({ path, keys: keys.size }, 'the configuration file changed; its API keys were read')
    }, settle_ms).unref()
  }
  watch.watchFile(path, { interval: look_ms, persistent: false }, changed)
  load() // it may have changed since the configuration was read
  return () => {
    watch.unwatchFile(path, changed)
    clearTimeout(settling)
  }
}
