import fs, { type Stats } from 'node:fs'
import { messageOf, readKeys, type Logger } from '../../../kernel/index.ts'
import type { Keys } from './keys.ts'

/**
 * How often the file is checked, in milliseconds. A key that `skillet key revoke` removes stops working after at most
 * this time.
 */
const look_ms = 1_000
/**
 * How long a file that is written in place must stay unchanged before it is read, in milliseconds: its writer empties
 * it first, and an empty file would remove all keys. Longer than a look, so that a write that goes on is noticed. A
 * file that replaced another by renaming, as our commands write it, is whole and is read at once.
 */
const settle_ms = 1_500

/**
 * Takes the named keys from the configuration file whenever the file changes. When the file is broken, the present keys
 * stay. The file is polled rather than watched for events: it is replaced by renaming, and neither the file nor its
 * folder needs to exist when the server starts.
 * @param watch polls the file; tests pass their own
 * @returns a function that stops the polling
 */
export function watchKeys (
  path: string,
  keys: Pick<Keys, 'replace' | 'size'>,
  log: Logger,
  watch: Pick<typeof fs, 'watchFile' | 'unwatchFile'> = fs
): () => void {
  const load = (): void => {
    try {
      keys.replace(readKeys(path))
    } catch (error) {
      log.error(
        { path, error: messageOf(error).split('\n')[0] },
        'the API keys could not be read; those known stay in force'
      )
    }
  }
  let settling: NodeJS.Timeout | undefined
  const changed = (now: Stats, before: Stats): void => {
    // The callback also runs once when the file did not exist at the first check and still does not exist.
    if (now.nlink === 0 && before.nlink === 0) return
    clearTimeout(settling)
    const replaced =
      now.nlink > 0 && before.nlink > 0 && (now.ino !== before.ino || now.birthtimeMs !== before.birthtimeMs)
    settling = setTimeout(() => {
      load()
      log.info({ path, keys: keys.size }, 'the configuration file changed; its API keys were read')
    }, replaced ? 0 : settle_ms).unref()
  }
  watch.watchFile(path, { interval: look_ms, persistent: false }, changed)
  load() // the file may have changed since the configuration was read
  return () => {
    watch.unwatchFile(path, changed)
    clearTimeout(settling)
  }
}
