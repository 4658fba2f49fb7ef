import { createHash, type Hash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** The most files of a skill folder that count for its revision, and how deep they may lie. */
const filesMax = 1_000
export const depthMax = 8
/** What is read of a skill without a module: its texts, and which scripts there are. */
const files = ['skill.toml', 'SKILL.md', 'skill.md']
export const SCRIPTS = 'scripts'

/**
 * A text that differs whenever the skill may: by name, size, inode and times of files, so that nothing is read. With a module,
 * all files of the folder count, since it may read any of them when it is imported; those under `node_modules` and hidden
 * ones do not, nor what it imports from outside its folder.
 * @param present the names in the folder
 */
export async function revisionOf (folder: string, module: boolean, present: ReadonlySet<string>): Promise<string> {
  const hash = createHash('sha256')
  if (module) await walk(folder, 0, hash, { left: filesMax })
  else {
    for (const file of files) if (present.has(file)) hash.update(await line(join(folder, file)))
    const scripts = join(folder, SCRIPTS)
    const names = present.has(SCRIPTS) ? await readdir(scripts).catch((): string[] => []) : []
    for (const name of names.sort().slice(0, filesMax)) hash.update(await line(join(scripts, name)))
  }
  return hash.digest('hex').slice(0, 32)
}

/** Whether a file may count for the revision of a folder, as far as its place tells. */
export function countsForRevision (folder: string, file: string, module = true): boolean {
  const parts = relative(folder, file).split(sep)
  if (parts.length === 1 && parts[0] === '') return true
  if (!module) return parts.length === 1 || (parts.length === 2 && parts[0] === SCRIPTS)
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
  return `${path}\0${stats?.ino}\0${stats?.size}\0${stats?.mode}\0${stats?.mtimeNs}\0${stats?.ctimeNs}\n`
}
