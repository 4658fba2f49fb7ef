import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { lstat, opendir, readlink, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { messageOf } from '../../../kernel/index.ts'

/** The limits of a folder that can be trusted by its content. */
export interface Limits {
  /** The number of files, folders and links. */
  entriesMax: number
  /** The size of all files together, in bytes. */
  bytesMax: number
  /** The number of folders within each other. */
  depthMax: number
}
export const limits: Limits = { entriesMax: 10_000, bytesMax: 256 * 1_048_576, depthMax: 32 }

/** The folder can't be trusted by its content. The message names the place and what to do, in one line. */
export class FolderFault extends Error {}

/** A file, folder or link of a folder. */
export interface FolderEntry {
  /** The path within the folder, with `/`; empty for the folder itself. */
  path: string
  type: 'file' | 'folder' | 'link'
  /** Whether somebody may execute the file. */
  executable: boolean
  /** The size of a file in bytes, of the file behind a link that leaves the folder as well; otherwise 0. */
  size: number
  /** The text of a link. */
  link?: string
  /** The absolute path behind a link that leaves the folder, without links. */
  outside?: string
  /** The file to read: the file itself, or a regular file behind a link that leaves the folder. */
  file?: string
}

/** The entries of a folder at one moment, without the contents of files. */
export interface Walked {
  /** Sorted by path. */
  entries: FolderEntry[]
  /** A text that differs whenever an entry, or the content of a file, may differ. */
  stamp: string
  /** The newest change of an entry, by its ctime, in milliseconds since 1970. */
  newest_ms: number
}

const less = 'remove what the skill does not need'

/**
 * Reads the names, types, links and times of a folder with everything in it. No file is opened.
 * @param folder absolute path without links
 * @throws FolderFault
 */
export async function walkFolder (
  folder: string, { entriesMax, bytesMax, depthMax }: Limits = limits
): Promise<Walked> {
  const walk = new Walk(folder)
  try {
    await walk.add('')
    for (const { path, type } of walk.entries) { // grows while it is walked
      if (type !== 'folder') continue
      if (path.split('/').length > depthMax) {
        throw new FolderFault(`${join(folder, path)}: more than ${depthMax} folders lie within each other`)
      }
      const names: string[] = []
      for await (const { name } of await opendir(join(folder, path))) {
        if (walk.entries.length + names.push(name) > entriesMax + 1) {
          throw new FolderFault(`${folder} has more than ${entriesMax} files and folders; ${less}`)
        }
        // Node gives several names that are not UTF-8 as the same text.
        if (!name.includes('\uFFFD')) continue
        throw new FolderFault(`${join(folder, path)} has a name that is not UTF-8: ${JSON.stringify(name)}; rename it`)
      }
      await inParallel(names, async name => { await walk.add(path === '' ? name : `${path}/${name}`) })
      if (walk.bytes > bytesMax) {
        throw new FolderFault(`the files of ${folder} have more than ${bytesMax} bytes; ${less}`)
      }
    }
  } catch (error) {
    if (error instanceof FolderFault) throw error
    throw new FolderFault(`${folder} can't be read: ${messageOf(error)}`, { cause: error })
  }
  return walk.walked()
}

/** The number of files that are looked at, or read, at once. */
const parallelMax = 16

/** Calls `work` with each item, several at once. Rejects with the first error; then no further item is begun. */
export async function inParallel<T> (items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values() // shared by all: each takes the next item
  let failed = false
  await Promise.all(Array.from({ length: Math.min(parallelMax, items.length) }, async () => {
    for (const item of left) {
      if (failed) return
      try {
        await work(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }))
}

/** The entries of a folder that were found so far. */
class Walk {
  readonly #folder: string
  readonly #stamps: string[] = []
  #newest_ms = 0
  readonly entries: FolderEntry[] = []
  bytes = 0

  constructor (folder: string) {
    this.#folder = folder
  }

  /** @param path within the folder */
  async add (path: string): Promise<void> {
    const at = path === '' ? this.#folder : join(this.#folder, path)
    const stats = await lstat(at, { bigint: true })
    this.#note(path, stats)
    if (stats.isSymbolicLink()) return await this.#addLink(path, at)
    if (stats.isDirectory()) this.entries.push({ path, type: 'folder', executable: false, size: 0 })
    else if (stats.isFile()) {
      this.#count(Number(stats.size))
      this.entries.push({ path, type: 'file', executable: isExecutable(stats), size: Number(stats.size), file: at })
    } else {
      const only = 'a folder that is trusted holds files, folders and links only: remove it'
      throw new FolderFault(`${at} is ${kindOf(stats)}; ${only}`)
    }
  }

  walked (): Walked {
    const byPath = this.entries.sort((a, b) => a.path < b.path ? -1 : 1)
    const stamp = createHash('sha256').update(this.#stamps.sort().join('\n')).digest('hex')
    return { entries: byPath, stamp, newest_ms: this.#newest_ms }
  }

  /** Adds a link. Of a link that leaves the folder, the regular file behind it counts as well. */
  async #addLink (path: string, at: string): Promise<void> {
    const link = await readlink(at)
    const behind = await realpath(at).catch(() => undefined)
    const entry: FolderEntry = { path, type: 'link', executable: false, size: 0, link }
    if (behind === undefined) entry.outside = link // leads nowhere, or in a circle
    else if (behind !== this.#folder && !behind.startsWith(this.#folder + sep)) {
      entry.outside = behind
      const stats = await stat(behind, { bigint: true })
      if (stats.isFile()) {
        this.#note(`${path}\0behind`, stats)
        this.#count(Number(stats.size))
        Object.assign(entry, { file: behind, size: Number(stats.size), executable: isExecutable(stats) })
      }
    }
    this.entries.push(entry)
  }

  #note (path: string, { dev, ino, size, mode, uid, mtimeNs, ctimeNs, ctimeMs }: BigIntStats): void {
    this.#stamps.push(JSON.stringify([path, ...[dev, ino, size, mode, uid, mtimeNs, ctimeNs].map(String)]))
    this.#newest_ms = Math.max(this.#newest_ms, Number(ctimeMs) + 1) // rounded up
  }

  #count (bytes: number): void {
    this.bytes += bytes
  }
}

function isExecutable ({ mode }: BigIntStats): boolean {
  return (mode & 0o111n) !== 0n
}

function kindOf (stats: BigIntStats): string {
  return stats.isFIFO() ? 'a FIFO' : stats.isSocket() ? 'a socket' : 'a device'
}
