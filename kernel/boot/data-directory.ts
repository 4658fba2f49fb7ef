import {
  closeSync, constants, fchmodSync, fstatSync, lstatSync, mkdirSync, openSync, readdirSync, type Stats
} from 'node:fs'
import { join, resolve } from 'node:path'
import { hasCode } from '../lib/file.ts'
import type { Logger } from '../lib/log.ts'

/** The file that keeps the history; a directory that holds it is a data directory, whatever else is in it. */
export const historyFileName = 'history.mdb'

/** What is wrong with a data directory. */
export interface DirectoryFault {
  text: string
  remedy: string
  /** Mends it, where that is ours to do. @throws Error when it can't */
  mend?: () => void
}

/** Rights of others than the owner. */
const forOthers = 0o077
/** Everybody may put something into it, and nobody take away another's. */
const sticky = 0o1000
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Makes a data directory where there is none, and sees to it that nobody but its owner, who is this user, can read
 * it or change what is in it. What is open to others is closed, where it is evidently Skillet's; all else is refused.
 * The way to the directory may lead through symbolic links. At the start of a process: synchronous.
 * @throws Error naming the path, what is wrong with it, and what to do
 */
export function secureDataDirectory (directory: string, log: Logger): void {
  const path = resolve(directory) // without a slash at its end, which would follow a link
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { recursive: true, mode: 0o700 })
  const faults = findDirectoryFaults(path)
  for (const fault of faults) {
    if (fault.mend === undefined) throw refusal(fault)
    try {
      fault.mend()
    } catch (error) {
      throw refusal(fault, error)
    }
    log.warn({ data_dir: path }, `${fault.text}; it is closed now`)
  }
  // While it was open, others could put something into it.
  const [left] = faults.length === 0 ? [] : findDirectoryFaults(path)
  if (left !== undefined) throw refusal(left)
}

function refusal ({ text, remedy }: DirectoryFault, cause?: unknown): Error {
  return new Error(`${text}; ${remedy}`, { cause })
}

/** What is wrong with a data directory, which need not exist. Changes nothing. Those that can be mended come last. */
export function findDirectoryFaults (directory: string): DirectoryFault[] {
  const user = process.geteuid?.()
  const path = resolve(directory)
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (user === undefined || found === undefined) return []
  if (found.isSymbolicLink()) {
    const remedy = 'name the directory it leads to with --data-dir'
    return [{ text: `the data directory ${path} is a symbolic link`, remedy }]
  }
  let descriptor
  try {
    descriptor = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    const remedy = 'name another with --data-dir'
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return [{ text: `${path} is not a directory`, remedy }]
    if (!hasCode(error, 'EACCES')) throw error
    return [{ text: `the data directory ${path} can't be read`, remedy: `chmod 700 ${path}, or ${remedy}` }]
  }
  try {
    const stat = fstatSync(descriptor)
    if (stat.uid !== user) return [foreign(`the data directory ${path}`, path, stat, user)]
    const names = readdirSync(path)
    const faults = names.flatMap(name => entryFault(join(path, name), name, user))
    faults.push(...directoryFault(path, stat, names))
    return faults.toSorted((a, b) => Number(a.mend !== undefined) - Number(b.mend !== undefined))
  } finally {
    closeSync(descriptor)
  }
}

function directoryFault (path: string, { mode }: Stats, names: readonly string[]): DirectoryFault[] {
  if ((mode & forOthers) === 0) return []
  const text = `the data directory ${path} is open to others (its mode is ${octal(mode)})`
  if ((mode & sticky) !== 0) return [{ text, remedy: 'name a directory within it with --data-dir' }]
  // To close a directory that is more than Skillet's may harm others, such as a web server that reads in a home.
  if (names.length > 0 && !names.includes(historyFileName)) {
    return [{
      text: `${text}, and it holds what is not Skillet's, such as "${names[0]}"`,
      remedy: `name a directory within it with --data-dir, or close it: chmod 700 ${path}`
    }]
  }
  return [{ text, remedy: `close it: chmod 700 ${path}`, mend: () => { close(path, O_DIRECTORY) } }]
}

function entryFault (path: string, name: string, user: number): DirectoryFault[] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return [] // a temporary file of another process
  if (stat.isSymbolicLink()) {
    const remedy = 'put what it leads to in its place, or remove it'
    return [{ text: `the data directory holds a symbolic link, ${path}`, remedy }]
  }
  if (stat.uid !== user) return [foreign(path, path, stat, user)]
  // All else is behind a directory that is closed.
  if (!name.startsWith(historyFileName) || !stat.isFile() || (stat.mode & forOthers) === 0) return []
  const text = `${path} is open to others (its mode is ${octal(stat.mode)})`
  return [{ text, remedy: `close it: chmod 600 ${path}`, mend: () => { close(path, 0) } }]
}

function foreign (what: string, path: string, { uid }: Stats, user: number): DirectoryFault {
  return {
    text: `${what} belongs to another user (its user id is ${uid}, and that of this process ${user})`,
    remedy:
      `run Skillet as that user, make it yours (chown -R ${user} ${path}), or name another directory with --data-dir`
  }
}

/** Takes the rights of others from what is at a path now, when it is this user's and no link. */
function close (path: string, flags: number): void {
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags)
  try {
    const { uid, mode } = fstatSync(descriptor)
    if (uid !== process.geteuid?.()) throw new Error('it belongs to another user')
    fchmodSync(descriptor, mode & 0o700)
    if ((fstatSync(descriptor).mode & forOthers) !== 0) throw new Error('its file system keeps no modes')
  } finally {
    closeSync(descriptor)
  }
}

function octal (mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}
