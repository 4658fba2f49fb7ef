import {
  closeSync, constants, fchmodSync, fstatSync, lstatSync, mkdirSync, openSync, readdirSync, type Stats
} from 'node:fs'
import { join, resolve } from 'node:path'
import { hasCode } from '../lib/file.ts'
import type { Logger } from '../lib/log.ts'

/** The file of the history. A directory with this file is a data directory, whatever other files it holds. */
export const historyFileName = 'history.mdb'

/** A fault of a data directory. */
export interface DirectoryFault {
  text: string
  remedy: string
  /** Repairs the fault; absent when Skillet should not repair it. @throws Error when the repair fails */
  mend?: () => void
}

/** The mode bits for the rights of other users. */
const forOthers = 0o077
/** The sticky bit of a directory: every user may create files in it, and nobody may delete files of another user. */
const sticky = 0o1000
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Creates the data directory if it is missing, and makes sure that this user owns it and that no other user can read or
 * change its content. When other users have rights and the directory evidently belongs to Skillet, these rights are
 * removed; every other fault is an error. The path to the directory may contain symbolic links. Synchronous, because it
 * runs at the start of a process.
 * @throws Error with the path, the fault and the remedy
 */
export function secureDataDirectory (directory: string, log: Logger): void {
  const path = resolve(directory) // removes a slash at the end, which would follow a symbolic link
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
  // Other users could create files in the directory while it was open, so it is checked again.
  const [left] = faults.length === 0 ? [] : findDirectoryFaults(path)
  if (left !== undefined) throw refusal(left)
}

function refusal ({ text, remedy }: DirectoryFault, cause?: unknown): Error {
  return new Error(`${text}; ${remedy}`, { cause })
}

/**
 * Finds the faults of a data directory, which may be missing. Changes nothing. The faults that can be repaired come
 * last.
 */
export function findDirectoryFaults (directory: string): DirectoryFault[] {
  const user = process.geteuid?.()
  const path = resolve(directory)
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (user === undefined || stats === undefined) return []
  if (stats.isSymbolicLink()) {
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
  // To close a directory with files of other programs may break them, such as a web server that reads in a home
  // directory.
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
  // The closed directory protects all other files.
  if (!name.startsWith(historyFileName) || !stat.isFile() || (stat.mode & forOthers) === 0) return []
  const text = `${path} is open to others (its mode is ${octal(stat.mode)})`
  return [{ text, remedy: `close it: chmod 600 ${path}`, mend: () => { close(path, 0) } }]
}

function foreign (subject: string, path: string, { uid }: Stats, user: number): DirectoryFault {
  return {
    text: `${subject} belongs to another user (its user id is ${uid}, and that of this process ${user})`,
    remedy:
      `run Skillet as that user, make it yours (chown -R ${user} ${path}), or name another directory with --data-dir`
  }
}

/** Removes the rights of other users from the file or directory at a path, if this user owns it and it is no link. */
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
