import { createHash, type Hash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The most files of a skill folder that count for its revision, and how deep they may lie. */
const filesMax = 1_000
const depthMax = 8

/**
 * A text that differs whenever a file in the folder does: by name, size, inode and times, so that nothing is read. Files
 * under `node_modules` and hidden ones do not count, nor does what a module imports from outside its folder.
 */
export function revisionOf (folder: string): string {
  const hash = createHash('sha256')
  walk(folder, 0, hash, { left: filesMax })
  return hash.digest('hex').slice(0, 32)
}

function walk (folder: string, depth: number, hash: Hash, files: { left: number }): void {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1)
  for (const entry of entries) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    if (files.left-- <= 0) return
    const path = join(folder, entry.name)
    if (entry.isDirectory()) { // a linked folder counts as the link it is: following it may never end
      if (depth < depthMax) walk(path, depth + 1, hash, files)
      continue
    }
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    hash.update(`${path}\0${stats?.ino}\0${stats?.size}\0${stats?.mtimeNs}\0${stats?.ctimeNs}\n`)
  }
}
