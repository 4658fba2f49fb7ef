import { constants } from 'node:fs'
import { open, readdir, readlink, realpath, stat, type FileHandle } from 'node:fs/promises'
import type { Dirent, Stats } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { PrivatePaths } from './private-paths.ts'

/** The most entries of one folder that are read. */
const entriesMax = 100_000

/** What was opened within the roots, verified after it was opened. */
export interface Opened { handle: FileHandle, path: string, stats: Stats }

/** The folders that may be looked into, and the only way to what is in them, less what is Skillet's own. */
export class Roots {
  readonly #roots: readonly string[]
  readonly #private: PrivatePaths

  private constructor (roots: readonly string[], own: PrivatePaths) {
    this.#roots = roots
    this.#private = own
  }

  /**
   * For one call: what is there is looked up anew.
   * @param config what a skill that declares `reads_files` is given: `roots`, a list of folders (the working directory
   * where absent), and `private_paths`
   */
  static async of ({ roots = ['.'], private_paths = [] }: Readonly<Record<string, unknown>>): Promise<Roots> {
    if (!isListOfPaths(roots) || roots.length === 0) {
      throw new Error('[skills.config.files] roots must be a list of folders')
    }
    if (!isListOfPaths(private_paths)) throw new Error('private_paths must be a list of paths')
    const found = await Promise.all(roots.map(root => realpath(resolve(home(root))).catch(() => undefined)))
    const there = found.filter(root => root !== undefined)
    if (there.length === 0) {
      throw new Error(`none of the folders in [skills.config.files] roots is there: ${roots.join(', ')}`)
    }
    return new Roots(there, await PrivatePaths.of(private_paths))
  }

  /**
   * An asked path without symbolic links. A relative one is relative to the first root.
   * @throws Error when it lies outside, or is Skillet's own
   */
  async real (asked: string): Promise<string> {
    const expanded = home(asked)
    const path = isAbsolute(expanded) ? resolve(expanded) : resolve(this.#roots[0] ?? '/', expanded)
    let real: string
    try {
      real = await realpath(path)
    } catch (error) {
      // Outside, nothing is told of what is there and what is not.
      if (!this.#holds(path)) throw outside(asked, error)
      if (this.#private.covers(path)) throw ownPath(asked)
      throw new Error(
        `${asked} ${codeOf(error) === 'ENOENT' ? 'does not exist' : `can't be read (${codeOf(error)})`}`,
        { cause: error }
      )
    }
    if (!this.#holds(real)) throw outside(asked)
    if (this.#private.covers(real)) throw ownPath(asked)
    return real
  }

  /** How results name a path: relative to the first root where it lies in it. */
  show (path: string): string {
    const within = relative(this.#roots[0] ?? '/', path)
    return within === '' ? '.' : within.startsWith('..') ? path : within
  }

  /**
   * Opens a file or folder, never through a symbolic link at its end, and looks at what was really opened: a folder on
   * the way may have been replaced by a link since the path was checked. The caller closes it.
   */
  async open (path: string): Promise<Opened> {
    // O_NONBLOCK: opening a FIFO would wait for a writer.
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat()
      const real = await realOf(handle, path, stats)
      if (!this.#holds(real)) throw outside(this.show(path))
      if (await this.#private.has(real, stats)) throw ownPath(this.show(path))
      return { handle, path, stats }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Entries of a folder, by name, without what is Skillet's own. @throws Error when it is none, or has too many */
  async entries (path: string): Promise<Dirent[]> {
    const { handle, stats } = await this.open(path)
    try {
      if (!stats.isDirectory()) throw new Error(`${this.show(path)} is not a folder`)
      // By the descriptor where the system has such paths: what was verified is what is read.
      const found = await readdir(process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path, {
        withFileTypes: true
      })
      if (found.length > entriesMax) throw new Error(`${this.show(path)} has more than ${entriesMax} entries`)
      return found.filter(({ name }) => !this.#private.covers(join(path, name)))
        .sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
    } finally {
      await handle.close()
    }
  }

  #holds (path: string): boolean {
    return this.#roots.some(root => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep))
  }
}

/** The path of what is open. Elsewhere than on Linux it is looked up again, and must still be the same file. */
async function realOf (handle: FileHandle, path: string, stats: Stats): Promise<string> {
  if (process.platform === 'linux') return await readlink(`/proc/self/fd/${handle.fd}`)
  const real = await realpath(path)
  const now = await stat(real)
  if (now.ino !== stats.ino || now.dev !== stats.dev) throw new Error(`${path} was replaced while it was opened`)
  return real
}

function home (path: string): string {
  return path === '~' ? homedir() : path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
}

function isListOfPaths (value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(path => typeof path === 'string' && path !== '')
}

function ownPath (asked: string): Error {
  return new Error(`${asked} is Skillet's own (its configuration, secrets, data or processes), which no tool reads`)
}

function outside (asked: string, cause?: unknown): Error {
  return new Error(`${asked} is outside the folders that may be looked into; [skills.config.files] roots names them`, { cause })
}

export function codeOf (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
