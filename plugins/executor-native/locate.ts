import { accessSync, constants, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'

/**
 * The time for which a location stays cached while the program still exists, in milliseconds. A program that is
 * installed earlier in PATH is found after that time.
 */
const known_ms = 1_000
const knownMax = 256

const locations = new Map<string, { place: string, until_ms: number }>()

/**
 * Finds a program, so that its process need not try each folder of PATH, which took as long as the command `true`.
 * @param path the PATH of the command's environment
 * @returns its absolute path; or the name itself when the system must resolve it: it has a slash, was not found, or a
 * relative folder of PATH comes first
 */
export function locate (program: string, path: string): string {
  if (program.includes('/')) return program
  const key = `${program}\0${path}`
  const cached = locations.get(key)
  if (
    cached !== undefined && cached.until_ms > performance.now() && (cached.place === program || isProgram(cached.place))
  ) {
    return cached.place
  }
  const place = find(program, path)
  if (locations.size >= knownMax) locations.clear()
  locations.set(key, { place, until_ms: performance.now() + known_ms })
  return place
}

function find (program: string, path: string): string {
  for (const folder of path.split(':')) {
    if (!isAbsolute(folder)) return program
    const file = join(folder, program)
    if (isProgram(file)) return file
  }
  return program
}

function isProgram (file: string): boolean {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false // the folder is not accessible, or the file is not executable
  }
}

/**
 * Resolves a relative path against the skill's folder, wherever the server was started. A name without a slash is
 * looked up in PATH.
 */
export function programOf (program: string, directory: string): string {
  return program.includes('/') ? resolve(directory, program) : program
}
