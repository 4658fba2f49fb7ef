import { createHash, type Hash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** The most files of a skill folder that count for its revision, and how deep they may lie. */
const filesMax = 1_000
const depthMax = 8

/**
 * A text that differs whenever a file in the folder does: by name, size, inode and times, so that nothing is read. Files
 * under `node_modules` and hidden ones do not count, nor does what a module imports from outside its folder.
 */
export async function revisionOf (folder: string): Promise<string> {
  const hash = createHash('sha256')
  await walk(folder, 0, hash, { left: filesMax })
  return hash.digest('hex').slice(0, 32)
}

/** Whether a change of the file changes the folder's revision, as far as its place tells. */
export function countsForRevision (folder: string, file: string): boolean {
  const parts = relative(folder, file).split(sep)
  return parts.length <= depthMax && parts.every(part => part !== 'node_modules' && !part.startsWith('.'))
}

/** A text that differs whenever one of the files does, and is the same while one is not there. */
export async function stampOf (files: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await line(file))
  return hash.digest('hex').slice(0, 32)
}

async function walk (folder: string, depth: number, hash: Hash, files: { left: number }): Promise<void> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => a.name < b.name ? -1 : 1)
  for (const entry of entries) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    if (files.left-- <= 0) return
    const path = join(folder, entry.name)
    if (entry.isDirectory()) { // a linked folder counts as the link it is: following it may never end
      if (depth < depthMax) await walk(path, depth + 1, hash, files)
      continue
    }
    hash.update(await line(path))
  }
}

async function line (path: string): Promise<string> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  return `${path}\0${stats?.ino}\0${stats?.size}\0${stats?.mtimeNs}\0${stats?.ctimeNs}\n`
}
