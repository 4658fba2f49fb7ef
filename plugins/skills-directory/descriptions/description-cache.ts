import { createHash } from 'node:crypto'
import { access, mkdir, readFile, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject, messageOf, replaceFile, type JsonObject, type Logger } from '../../../kernel/index.ts'
import type { Described, FolderToRead } from '../shared/protocol.ts'
import { stampOf } from '../listing/revision.ts'

/** How often an entry in use is marked as used, in milliseconds. */
const mark_ms = 24 * 60 * 60 * 1000
/** An entry is pruned when it was not used for this time, like the builds of modules. */
const unusedMax_ms = 14 * mark_ms
/**
 * The number of files among which descriptions are divided: few enough that a thousand skills are read and written
 * fast, and enough that a single skill is too.
 */
const drawers = 64

/** A cached description. */
interface Entry {
  /** A digest of the maker and of the sources of the description; see `#keyOf`. */
  key: string
  /** The time when the entry was last marked as used, in milliseconds since 1970. */
  used_ms: number
  described: Described
}

/** The entries of one file, by the path of their folder. */
interface Drawer { entries: Map<string, Entry>, changed: Set<string> }

/**
 * Descriptions of skills, cached from one start to the next: to describe a skill, its code runs in a thread, and
 * starting this thread takes longer than all other work of listing skills. A description is used again only for the
 * same revision of the folder, by the same build of this program on the same Node.js, and for the same trust. Skills
 * with faults are not cached. When several processes write at once, one may overwrite an entry of another; that skill
 * is then described once more.
 */
export class DescriptionCache {
  readonly #directory: string
  readonly #log: Logger
  readonly #maker: Promise<string>
  /** The files by their number; read when they are needed, and again after they were saved. */
  readonly #drawers = new Map<number, Promise<Drawer>>()

  constructor (directory: string, log: Logger) {
    this.#directory = directory
    this.#log = log
    this.#maker = makerOf()
  }

  /** The description of a folder in its present state; undefined when the folder must be described. */
  async get (folder: FolderToRead): Promise<Described | undefined> {
    const { entries, changed } = await this.#drawerOf(folder)
    const entry = entries.get(folder.path)
    if (entry === undefined) return undefined
    const { key, used_ms, described } = entry
    try {
      if (key !== await this.#keyOf(folder, described.outside)) return undefined
      const { module } = described.skill
      if (module !== undefined) await access(module) // a built module may have been pruned
      if (Date.now() - used_ms > mark_ms) {
        entry.used_ms = Date.now()
        changed.add(folder.path)
        if (module?.startsWith(this.#directory) === true) await mark(module)
      }
      return described
    } catch {
      return undefined // its module was removed
    }
  }

  /** Adds a description to the cache; `save` writes it. */
  async put (folder: FolderToRead, described: Described): Promise<void> {
    const { entries, changed } = await this.#drawerOf(folder)
    entries.set(folder.path, { key: await this.#keyOf(folder, described.outside), used_ms: Date.now(), described })
    changed.add(folder.path)
  }

  /** Writes the added descriptions. An error is ignored, since serving does not need the cache. */
  async save (): Promise<void> {
    const all = [...this.#drawers]
    this.#drawers.clear()
    await Promise.all(all.map(async ([number, drawer]) => { await this.#write(number, await drawer) }))
  }

  /**
   * Marks a module as used, if it is in the cache.
   * @returns whether the module exists
   */
  async keep (module: string): Promise<boolean> {
    try {
      await mark(module)
      return true
    } catch {
      return false
    }
  }

  async #write (number: number, { entries, changed }: Drawer): Promise<void> {
    if (changed.size === 0) return
    const path = this.#pathOf(number)
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 })
      const { entries: present } = await this.#read(number) // other processes may have written meanwhile
      for (const folder of changed) {
        const entry = entries.get(folder)
        if (entry !== undefined) present.set(folder, entry)
      }
      const since_ms = Date.now() - unusedMax_ms
      await replaceFile(
        path,
        JSON.stringify(Object.fromEntries([...present].filter(([, { used_ms }]) => used_ms > since_ms))),
        { durable: false }
      )
    } catch (error) {
      this.#log.debug({ path, error: messageOf(error) }, 'descriptions of skills could not be kept')
    }
  }

  #drawerOf ({ path }: FolderToRead): Promise<Drawer> {
    const number = (createHash('sha256').update(path).digest()[0] ?? 0) % drawers
    let drawer = this.#drawers.get(number)
    if (drawer === undefined) this.#drawers.set(number, drawer = this.#read(number))
    return drawer
  }

  async #read (number: number): Promise<Drawer> {
    const entries = new Map<string, Entry>()
    try {
      const values = JSON.parse(await readFile(this.#pathOf(number), 'utf8')) as JsonObject
      for (const [path, entry] of Object.entries(values)) if (isEntry(entry)) entries.set(path, entry)
    } catch {} // the file is missing or damaged
    return { entries, changed: new Set() }
  }

  #pathOf (number: number): string {
    return join(this.#directory, `${number}.skills.json`)
  }

  async #keyOf (
    { path, revision, module, in_thread }: FolderToRead, outside: readonly string[]
  ): Promise<string> {
    // A module may export other tools where it is confined.
    const where = module && !in_thread ? 'confined' : ''
    return [await this.#maker, path, revision, await stampOf(outside), where].join('\n')
  }
}

/** Whether a value is a cache entry; its key guarantees its contents. */
function isEntry (value: unknown): value is Entry {
  return isObject(value) && typeof value['key'] === 'string' && typeof value['used_ms'] === 'number'
    && isObject(value['described']) && Array.isArray(value['described']['outside'])
    && Array.isArray(value['described']['broken']) && isObject(value['described']['skill'])
}

async function mark (path: string): Promise<void> {
  const now = new Date()
  if (now.getTime() - (await stat(path)).mtimeMs > mark_ms) await utimes(path, now, now)
}

/**
 * The maker of descriptions: this build of the thread's code, and this Node.js, whose path may be in the commands of
 * skills.
 */
async function makerOf (): Promise<string> {
  return `${process.version} ${process.execPath} ${await stampOf([fileURLToPath(new URL('../reader/worker.js', import.meta.url))])}`
}
