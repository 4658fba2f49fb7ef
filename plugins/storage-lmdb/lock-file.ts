import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { hasCode } from '../../kernel/index.ts'

/** The size of LMDB's lock file for `readersMax` readers: 272 bytes and 64 for each reader, rounded up to pages. */
const lockBytes = 9 * 4_096

/**
 * Makes the lock file of a history, if there is none, with all of its bytes on the disk. LMDB would make a sparse file
 * and write to it through a memory mapping: when the disk is full, that ends the process by SIGBUS.
 * @throws Error with a code such as ENOSPC
 */
export function makeLockFile (file: string): void {
  const path = `${file}-lock`
  if (existsSync(path)) return
  const aside = `${path}.${randomUUID()}.tmp`
  try {
    writeFileSync(aside, Buffer.alloc(lockBytes), { mode: 0o600, flag: 'wx' })
    linkSync(aside, path) // the file appears complete, and never replaces the file of another process
  } catch (error) {
    // On a file system without links, LMDB makes the file.
    if (!hasCode(error, 'EEXIST', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}
