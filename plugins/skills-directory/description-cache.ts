import { createHash } from 'node:crypto'
import { access, mkdir, readFile, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, replaceFile, type Logger } from '../../kernel/index.ts'
import type { Described, Folder } from './protocol.ts'
import { stampOf } from './revision.ts'

/** An entry in use is marked as used this often; unmarked ones are pruned like other builds. */
const mark_ms = 24 * 60 * 60 * 1000

/** A description as it is kept. */
interface Entry extends Described {
  /** What it was made by and of; see `keyOf`. */
  key: string
}

/**
 * Descriptions of skills, kept from one start to the next: describing one runs its code in a thread, and starting that
 * thread takes longer than all else that listing skills does. A description is used again only for the same revision of the
 * folder, by the same build of this program on the same Node.js. Skills at fault are not kept. A file for each folder, so that
 * several processes may write at once, and only what changed is written.
 */
export class DescriptionCache {
  readonly #directory: string
  readonly #log: Logger
  readonly #maker: Promise<string>
  /** Resolves when the directory is there. */
  #made: Promise<unknown> | undefined

  constructor (directory: string, log: Logger) {
    this.#directory = directory
    this.#log = log
    this.#maker = makerOf()
  }

  /** The description of a folder as it is now; undefined where it has to be described. */
  async get (folder: Folder): Promise<Described | undefined> {
    const path = this.#pathOf(folder)
    try {
      const { key, ...described } = JSON.parse(await readFile(path, 'utf8')) as Entry // ours; anything else has another key
      if (key !== await this.#keyOf(folder, described.outside)) return undefined
      const { module } = described.skill
      if (module !== undefined) await access(module) // a built one may have been pruned
      await this.#mark(module?.startsWith(this.#directory) === true ? [path, module] : [path])
      return described
    } catch {
      return undefined // not there, damaged, or its module has gone
    }
  }

  /** Keeps a description. That it can't be kept is no reason not to serve. */
  async put (folder: Folder, described: Described): Promise<void> {
    const path = this.#pathOf(folder)
    try {
      await (this.#made ??= mkdir(this.#directory, { recursive: true, mode: 0o700 }))
      const entry: Entry = { key: await this.#keyOf(folder, described.outside), ...described }
      await replaceFile(path, JSON.stringify(entry), { durable: false })
    } catch (error) {
      this.#made = undefined // it may have been removed
      this.#log.debug({ path, error: messageOf(error) }, 'the description of a skill could not be kept')
    }
  }

  /** Marks a module as used, where it is one of the cache's. @returns whether it is there */
  async keep (module: string): Promise<boolean> {
    try {
      await this.#mark([module])
      return true
    } catch {
      return false
    }
  }

  #pathOf ({ path }: Folder): string {
    return join(this.#directory, `${createHash('sha256').update(path).digest('hex')}.skill.json`)
  }

  async #keyOf ({ path, revision }: Folder, outside: readonly string[]): Promise<string> {
    return [await this.#maker, path, revision, await stampOf(outside)].join('\n')
  }

  async #mark (paths: readonly string[]): Promise<void> {
    const now = new Date()
    for (const path of paths) {
      if (now.getTime() - (await stat(path)).mtimeMs > mark_ms) await utimes(path, now, now)
    }
  }
}

/** What makes descriptions: this build of the thread that does, and this Node.js, which commands of skills may name. */
async function makerOf (): Promise<string> {
  return `${process.version} ${process.execPath} ${await stampOf([fileURLToPath(new URL('./worker.js', import.meta.url))])}`
}
