import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isAbsent, messageOf } from '../../../kernel/index.ts'

/** The largest text file that is read, in bytes. */
export const textBytesMax = 524_288
/** The most entries of a directory of skills. */
const entriesMax = 10_000

/**
 * Reads a text file.
 * @returns undefined when it does not exist
 * @throws Error in one line that names the file
 */
export async function readText (path: string): Promise<string | undefined> {
  try {
    // A FIFO is not opened: that would wait.
    const before = await stat(path)
    if (!before.isFile()) throw new Error('it is not a regular file')
    const handle = await open(path)
    try {
      const { size } = await handle.stat()
      if (size > textBytesMax) throw new Error(`it has ${size} bytes; the most is ${textBytesMax}`)
      const bytes = await handle.readFile()
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw new Error(`${basename(path)} can't be read: ${messageOf(error)}`, { cause: error })
  }
}

export async function isFile (path: string): Promise<boolean> {
  return await stat(path).then(stats => stats.isFile(), () => false)
}

/** The folders in a directory, in the order of their names, without hidden ones. @throws Error */
export async function foldersIn (directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  if (entries.length > entriesMax) throw new Error(`it has ${entries.length} entries; the most is ${entriesMax}`)
  const names = entries.filter(entry => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name).filter(name => !name.startsWith('.') && name !== 'node_modules').sort()
  const folders: string[] = []
  for (const name of names) {
    const path = join(directory, name)
    if (await stat(path).then(stats => stats.isDirectory(), () => false)) folders.push(path)
  }
  return folders
}
