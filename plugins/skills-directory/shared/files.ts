import { closeSync, fstatSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'

/** A fault of a skill, in one line; `path` is the file or folder with the fault. */
export class SkillFault extends Error {
  readonly path: string

  constructor (path: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.path = path
  }
}

/** The size limit of `skill.toml` and `SKILL.md`, in bytes. */
export const textBytesMax = 1_048_576
/** The size limit of a script skill's module, in bytes. */
export const moduleBytesMax = 8 * 1_048_576

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a text file of bounded size.
 * @throws SkillFault when it is not a regular file, is larger than `bytesMax`, can't be read or is not UTF-8
 */
export function readText (path: string, bytesMax: number): string {
  refuseUnlessSmall(path, bytesMax)
  try {
    // The file is checked again after it is opened, since it may have been replaced after the first check.
    const descriptor = openSync(path, 'r')
    try {
      refuseSize(path, fstatSync(descriptor).size, bytesMax)
      return utf8.decode(readFileSync(descriptor))
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (error instanceof SkillFault) throw error
    if (error instanceof TypeError) throw new SkillFault(path, `${basename(path)} is not valid UTF-8`, { cause: error })
    throw new SkillFault(path, `${basename(path)} can't be read: ${systemMessage(error)}`, { cause: error })
  }
}

/**
 * Whether an entry with this name exists. A broken link counts as existing: it is reported as a fault, not as missing.
 */
export function isThere (path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/**
 * @throws SkillFault when a path is not a regular file of at most `bytesMax` bytes. A FIFO is never opened, since
 * `open` would wait.
 */
export function refuseUnlessSmall (path: string, bytesMax: number): void {
  let stats
  try {
    stats = statSync(path)
  } catch (error) {
    throw new SkillFault(path, `${basename(path)} can't be read: ${systemMessage(error)}`, { cause: error })
  }
  if (!stats.isFile()) throw new SkillFault(path, `${basename(path)} is not a regular file`)
  refuseSize(path, stats.size, bytesMax)
}

function refuseSize (path: string, size: number, bytesMax: number): void {
  if (size > bytesMax) throw new SkillFault(path, `${basename(path)} has ${size} bytes; the most is ${bytesMax}`)
}

const meanings: Record<string, string> = {
  ELOOP: 'its symbolic links lead in a circle',
  ENOENT: 'it does not exist',
  ENOTDIR: 'it is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied'
}

/** A system error as a readable message. */
export function systemMessage (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return ('code' in error && typeof error.code === 'string' ? meanings[error.code] : undefined)
    ?? firstLine(error.message)
}

/** The first line of a text with a limited length, for a list of errors. */
export function firstLine (text: string): string {
  const [line = ''] = text.trim().split('\n', 1)
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}
