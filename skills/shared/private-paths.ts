import type { Stats } from 'node:fs'
import { lstat, opendir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'

/**
 * How many entries of private folders are looked at for hard links. Where there are more, no file that has several
 * names is read.
 */
const entriesMax = 100_000

/**
 * Files and folders that no tool reads, whatever name they are reached by: by their path, by what the system calls the
 * same file or folder (another case, another mount), and by another name of a file in them (a hard link). For one call.
 */
export class PrivatePaths {
  /** Without symbolic links. */
  readonly #paths: readonly string[]
  /** Those that are there, as the system knows them. */
  readonly #identities: ReadonlySet<string>
  /** Whether a folder, or one above it, is private. */
  readonly #folders = new Map<string, Promise<boolean>>()
  #linked: Promise<ReadonlySet<string> | undefined> | undefined

  private constructor (paths: readonly string[], identities: ReadonlySet<string>) {
    this.#paths = paths
    this.#identities = identities
  }

  static async of (given: readonly string[]): Promise<PrivatePaths> {
    const paths = await Promise.all(given.map(path => realOrSo(resolve(path))))
    const found = await Promise.all(paths.map(path => stat(path).catch(() => undefined)))
    return new PrivatePaths(paths, new Set(found.flatMap(stats => stats === undefined ? [] : identityOf(stats))))
  }

  /** Whether a path without symbolic links is private by its name. */
  covers (path: string): boolean {
    return this.#paths.some(own => path === own || path.startsWith(own.endsWith(sep) ? own : own + sep))
  }

  /** Whether what was opened is private. @param path of what was opened, without symbolic links */
  async has (path: string, stats: Stats): Promise<boolean> {
    if (this.#paths.length === 0) return false
    if (this.covers(path) || this.#identities.has(identityOf(stats)) || await this.#isWithin(dirname(path))) return true
    if (!stats.isFile() || stats.nlink < 2) return false
    const linked = await (this.#linked ??= this.#findLinked())
    return linked === undefined || linked.has(identityOf(stats))
  }

  #isWithin (folder: string): Promise<boolean> {
    let known = this.#folders.get(folder)
    if (known === undefined) this.#folders.set(folder, known = this.#look(folder))
    return known
  }

  async #look (folder: string): Promise<boolean> {
    const stats = await stat(folder).catch(() => undefined) // gone, and what was opened in it with it
    if (stats !== undefined && this.#identities.has(identityOf(stats))) return true
    const above = dirname(folder)
    return above !== folder && await this.#isWithin(above)
  }

  /**
   * The files in private folders that have further names. Undefined where there is too much to look at, or something
   * can't be looked at.
   */
  async #findLinked (): Promise<ReadonlySet<string> | undefined> {
    const found = new Set<string>()
    const folders = this.#paths.filter(path => path !== '/proc') // whose files have one name
    let entries = 0
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      try {
        for await (const entry of await opendir(folder)) {
          if (++entries > entriesMax) return undefined
          const path = join(folder, entry.name)
          if (entry.isDirectory()) folders.push(path)
          else if (entry.isFile()) {
            const stats = await lstat(path)
            if (stats.nlink > 1) found.add(identityOf(stats))
          }
        }
      } catch (error) {
        if (!isGone(error)) return undefined
      }
    }
    return found
  }
}

/** A path without symbolic links, as far as it is there. */
async function realOrSo (path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : join(await realOrSo(above), basename(path))
  }
}

function identityOf ({ dev, ino }: Stats): string {
  return `${dev} ${ino}`
}

/** Not there any more, or a file and no folder. */
function isGone (error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
