import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { messageOf, within } from '../../../kernel/index.ts'
import { FolderFault, inParallel, limits, walkFolder, type FolderEntry, type Limits, type Walked } from './walk.ts'

/**
 * A file that was changed less than this time ago is not hashed yet, in milliseconds. The clock of a file system has
 * steps of up to 10 ms, so two changes within a step give a file the same ctime. After this time, each further change
 * gives it another one.
 */
export const settle_ms = 50
/** How often a folder is read again when its files change meanwhile. */
const attemptsMax = 3
/** How long reading a folder may take, in milliseconds. */
const read_ms = 30_000
const chunkBytes = 1_048_576

/** A file, folder or link, and the SHA-256 of its content, in hexadecimal digits. */
export interface ContentEntry extends FolderEntry { sha256?: string }

/** The content of a folder, as it was from `newest_ms` until it was read. */
export interface FolderContent extends Pick<Walked, 'stamp' | 'newest_ms'> {
  /** SHA-256 over the canonical listing, in hexadecimal digits. */
  hash: string
  entries: ContentEntry[]
  /** The size of all files, in bytes. */
  bytes: number
}

/**
 * Reads a folder with all its files. What is returned was the content of the folder at the end of the reading, and
 * since `newest_ms`: no file was changed meanwhile, unless by a program that holds a writable mapping of it.
 * @param folder absolute path without links
 * @param options `walked`: the entries of the folder, when they were just walked
 * @throws FolderFault when a file is neither a file, a folder nor a link, when the limits are exceeded, or when files
 * are being changed
 */
export async function readFolder (
  folder: string, { within_limits = limits, walked }: { within_limits?: Limits, walked?: Walked } = {}
): Promise<FolderContent> {
  const late = new AbortController()
  const work = readUnchanged(folder, within_limits, late.signal, walked)
  try {
    if (await within(read_ms, work)) return await work
  } finally {
    late.abort()
  }
  work.catch(() => {})
  throw new FolderFault(`${folder} can't be read: it took longer than ${read_ms / 1000} s`)
}

async function readUnchanged (
  folder: string, limits: Limits, signal: AbortSignal, walked?: Walked
): Promise<FolderContent> {
  for (let attempt = 1; ; attempt++) {
    const before = attempt === 1 && walked !== undefined ? walked : await walkFolder(folder, limits)
    await settled(folder, before.newest_ms)
    const entries: ContentEntry[] = before.entries.map(entry => ({ ...entry }))
    try {
      await inParallel(entries, async entry => {
        if (entry.file !== undefined) entry.sha256 = await hashFile(entry.file, entry.size, signal)
      })
    } catch (error) {
      if (!(error instanceof Changed) || attempt >= attemptsMax) throw error
      continue
    }
    const { stamp } = await walkFolder(folder, limits)
    if (stamp === before.stamp) {
      const bytes = entries.reduce((sum, { size }) => sum + size, 0)
      return { stamp, newest_ms: before.newest_ms, entries, hash: hashOf(entries), bytes }
    }
    if (attempt < attemptsMax) continue
    throw new Changed(`the files of ${folder} are being changed; try it again when that has ended`)
  }
}

/** Waits until a further change of a file gives it another ctime. */
async function settled (folder: string, newest_ms: number): Promise<void> {
  const wait_ms = newest_ms + settle_ms - Date.now()
  if (wait_ms > 10 * settle_ms) {
    const at = new Date(newest_ms).toISOString()
    throw new FolderFault(`a file of ${folder} was changed in the future (${at}); check the clock, or copy the folder`)
  }
  if (wait_ms > 0) await new Promise(resolve => { setTimeout(resolve, wait_ms) })
}

/** A file was changed while it was read. */
class Changed extends FolderFault {}

/** The SHA-256 of a file of this size. At most one byte more is read of a file that grows. */
async function hashFile (path: string, size: number, signal: AbortSignal): Promise<string> {
  let file
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw new FolderFault(`${path} can't be read: ${messageOf(error)}`, { cause: error })
  }
  try {
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size + 1))
    let total = 0
    for (;;) {
      signal.throwIfAborted()
      const wanted = Math.min(buffer.length, size + 1 - total)
      const { bytesRead } = await file.read(buffer, 0, wanted)
      total += bytesRead
      if (total <= size) hash.update(buffer.subarray(0, bytesRead))
      if (bytesRead < wanted || total > size) break
    }
    if (total !== size) throw new Changed(`${path} changes while it is read; try it again when that has ended`)
    return hash.digest('hex')
  } finally {
    await file.close()
  }
}

/** SHA-256 over the canonical listing: a line of JSON for each entry, sorted by path. */
export function hashOf (entries: readonly ContentEntry[]): string {
  const hash = createHash('sha256').update('skillet folder 1\n')
  for (const entry of entries) hash.update(`${lineOf(entry)}\n`)
  return hash.digest('hex')
}

function lineOf ({ path, type, executable, size, link, sha256 }: ContentEntry): string {
  return JSON.stringify([path, type, executable, size, link ?? null, sha256 ?? null])
}

/** A short text for each entry that differs whenever the entry differs, by its path: to tell which ones changed. */
export function digestsOf (entries: readonly ContentEntry[]): Record<string, string> {
  const named = entries.filter(({ path }) => path !== '')
  const digest = (line: string): string => createHash('sha256').update(line).digest('base64url').slice(0, 22)
  return Object.fromEntries(named.map(entry => [entry.path, digest(lineOf(entry))]))
}
