import { constants } from 'node:fs'
import { open, opendir, realpath } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'

/** The maximum size of a file that is read, in bytes, and the maximum number of files in a list. */
const readBytesMax = 16 * 1_048_576
const listMax = 1_000
const depthMax = 8
/** Folders that lists leave out, since instructions never refer to them. */
const skipped = new Set(['node_modules', '__pycache__', '.git'])

interface About { folder: string, instructions: string }
interface Read { path: string, from_line: number, lines?: number, encoding: 'utf8' | 'base64' }

/** The tools that read the files of an Agent Skills folder. They run in script threads. */
export function toolsOf ({ folder, instructions }: About): Record<string, { run (parameters: never): unknown }> {
  return {
    instructions: { run: () => instructions },
    read: { run: (parameters: Read) => read(folder, parameters) },
    list: { run: ({ path }: { path: string }) => list(folder, path) }
  }
}

/** Resolves all links of a path within the folder. @throws Error when it leads out of the folder or does not exist */
async function within (folder: string, path: string): Promise<{ root: string, real: string }> {
  const root = await realpath(folder)
  const wanted = resolve(root, path)
  const outside = (at: string): boolean => at !== root && !at.startsWith(root + sep)
  if (path.includes('\0') || outside(wanted)) throw new Error(`"${path}" is not within the skill's folder`)
  let real
  try {
    real = await realpath(wanted)
  } catch (error) {
    throw new Error(`"${path}" can't be read: ${meaning(error)}`, { cause: error })
  }
  if (outside(real)) throw new Error(`"${path}" leads out of the skill's folder`)
  return { root, real }
}

async function read (folder: string, { path, from_line, lines, encoding }: Read): Promise<string> {
  const { real } = await within(folder, path)
  // The file may have been replaced meanwhile: a link is not followed, and opening a FIFO does not block.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) {
      throw new Error(`"${path}" is ${stats.isDirectory() ? 'a folder: list shows what is in it' : 'no regular file'}`)
    }
    if (stats.size > readBytesMax) throw new Error(`"${path}" has ${stats.size} bytes; the most is ${readBytesMax}`)
    const bytes = await file.readFile()
    if (encoding === 'base64') return bytes.toString('base64')
    return range(decode(path, bytes), from_line, lines)
  } finally {
    await file.close()
  }
}

function decode (path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new Error(`"${path}" is no UTF-8 text; encoding "base64" gives its ${bytes.length} bytes`, { cause: error })
  }
}

function range (text: string, from: number, count: number | undefined): string {
  if (from === 1 && count === undefined) return text
  return text.split(/(?<=\n)/).slice(from - 1, count === undefined ? undefined : from - 1 + count).join('')
}

async function list (
  folder: string,
  path: string
): Promise<{ files: { path: string, bytes: number }[], truncated: boolean }> {
  const { root, real } = await within(folder, path)
  const files: { path: string, bytes: number }[] = []
  const walk = async (at: string, depth: number): Promise<boolean> => {
    const below: string[] = []
    const names: string[] = []
    try {
      for await (const entry of await opendir(at)) {
        if (entry.isDirectory() && !skipped.has(entry.name)) below.push(entry.name)
        else if (entry.isFile() || entry.isSymbolicLink()) names.push(entry.name)
      }
    } catch (error) {
      throw new Error(`"${relative(root, at) || '.'}" can't be listed: ${meaning(error)}`, { cause: error })
    }
    for (const name of names.sort()) {
      if (files.length >= listMax) return true
      const size = await sizeOf(root, join(at, name))
      if (size !== undefined) files.push({ path: relative(root, join(at, name)), bytes: size })
    }
    for (const name of below.sort()) {
      if (depth >= depthMax || await walk(join(at, name), depth + 1)) return true
    }
    return false
  }
  const truncated = await walk(real, 0)
  return { files, truncated }
}

/** The size of a file, or of the target of a link within the folder, in bytes; undefined when it can't be read. */
async function sizeOf (root: string, path: string): Promise<number | undefined> {
  try {
    const real = await realpath(path)
    if (!real.startsWith(root + sep)) return undefined
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await file.stat()
      return stats.isFile() ? stats.size : undefined
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

const meanings: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist', ENOTDIR: 'it is no folder', ELOOP: 'its links lead in a circle',
  EACCES: 'permission denied', ENAMETOOLONG: 'its name is too long'
}

function meaning (error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return meanings[code] ?? (error instanceof Error ? error.message : String(error))
}
