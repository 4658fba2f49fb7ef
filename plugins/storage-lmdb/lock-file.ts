import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { hasCode } from '../../kernel/index.ts'

/** The bytes of the lock file: LMDB's for `readersMax` readers (a head of 272 bytes, 64 for each), in whole pages. */
const lockBytes = 9 * 4_096

/**
 * Makes the lock file of a history, if there is none, with all of its bytes on the disk. LMDB would make a file with
 * holes and write through a mapping of it: where the disk is full, that ends the process by SIGBUS.
 * @throws Error with a code such as ENOSPC
 */
export function makeLockFile (file: string): void {
  const path = `${file}-lock`
  if (existsSync(path)) return
  const aside = `${path}.${randomUUID()}.tmp`
  try {
    writeFileSync(aside, Buffer.alloc(lockBytes), { mode: 0o600, flag: 'wx' })
    linkSync(aside, path) // complete at once, and never in the place of another process's
  } catch (error) {
    // Where there are no links, LMDB makes the file.
    if (!hasCode(error, 'EEXIST', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}
