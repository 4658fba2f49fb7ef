import { closeSync, fstatSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'

/** Something wrong with a skill, in one line; `path` is the file or folder it is about. */
export class SkillFault extends Error {
  readonly path: string

  constructor (path: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.path = path
  }
}

/** Largest `skill.toml` and `SKILL.md`, in bytes. */
export const textBytesMax = 1_048_576
/** Largest module of a script skill, in bytes. */
export const moduleBytesMax = 8 * 1_048_576

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a text file of bounded size.
 * @throws SkillFault when it is not a regular file, is larger than `bytesMax`, can't be read or is not UTF-8
 */
export function readText (path: string, bytesMax: number): string {
  refuseUnlessSmall(path, bytesMax)
  try {
    // Looked at again once it is open: what was looked at before may have been replaced since.
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

/** Whether there is anything of that name, be it a link that leads nowhere: that is a fault to tell, not an absence. */
export function isThere (path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/**
 * @throws SkillFault when a path is not a regular file of at most `bytesMax` bytes. A FIFO is never opened: that would
 * wait.
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

/** A system error in words. */
export function systemMessage (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return ('code' in error && typeof error.code === 'string' ? meanings[error.code] : undefined) ?? firstLine(error.message)
}

/** The first line of a text, bounded: what a list of errors can show. */
export function firstLine (text: string): string {
  const [line = ''] = text.trim().split('\n', 1)
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}
