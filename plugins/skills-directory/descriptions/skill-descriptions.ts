import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { abortable, within } from '../../../kernel/index.ts'
import type { ModulesContext } from '../../toolkit/describing/confined-modules.ts'
import { toolListFolder } from '../../toolkit/mcp/tool-list.ts'
import { mapAtMost } from '../shared/at-most.ts'
import { ConfinedDescribing } from './confined-describing.ts'
import { DescriptionCache } from './description-cache.ts'
import { readingMax } from '../listing/list.ts'
import type { Described, Fault, Folder, FolderToRead } from '../shared/protocol.ts'
import { Reading, runsCode, type Answer } from './reader-pool.ts'

const skillModule = fileURLToPath(new URL('../../../kernel/skill.js', import.meta.url))
const wasmHost = fileURLToPath(new URL('../../toolkit/wasm/host/index.js', import.meta.url))

/** A folder that was not read in time. `unread`: reading goes on, and `read` is called at its end. */
export type Unread = Fault & { unread: true }

/** A folder that is still being read, or was read after its caller stopped waiting. */
interface Late { revision: string, description: Described | Fault | undefined }

/** The number of folders that are read in one request. */
const togetherMax = 50
/** How often the waiting loop checks whether it should go on, in milliseconds. */
const look_ms = 100
/** The number of late folders that are remembered. */
const lateMax = 10_000

/**
 * Describes folders: unchanged folders from the cache, and all other folders by reading them in worker threads. Code of
 * skills that are confined runs in processes of their own.
 */
export class Describing {
  readonly #cache: DescriptionCache
  readonly #reading: Reading
  readonly #confined: ConfinedDescribing
  /** The late folders by path. */
  readonly #late = new Map<string, Late>()
  #closed = false
  /** Called with the path of a folder that was read after its caller stopped waiting. */
  read: (path: string) => void = () => {}

  /** @param describe_ms the time limit for describing one skill, in milliseconds */
  constructor (context: ModulesContext, describe_ms: number) {
    const { config, data_dir, log } = context
    const directory = join(data_dir, 'cache', 'skills')
    this.#cache = new DescriptionCache(directory, log)
    this.#reading = new Reading({
      cache_dir: directory, lists_folder: toolListFolder(data_dir), skill_module: skillModule, wasm_host: wasmHost,
      limit_ms: describe_ms, heap_bytes_max: config.execution.heap_bytes_max, log
    })
    this.#confined = new ConfinedDescribing(context, describe_ms, async folder => {
      const [answer] = await this.#reading.describe([folder])
      return answer ?? { name: folder.name, path: folder.path, error: 'it was not read' }
    })
  }

  /**
   * Describes folders, one call at a time.
   * @param lasting whether more folders are to be described soon, so that the thread is kept for a while
   * @param wait_ms the time limit for all folders; a third of it when only slow modules are left
   * @param fresh the paths of folders that are read even when the cache has a description of them
   * @returns the contents of each folder, in the order of the folders. Rejects only with the signal's reason.
   */
  async describe (
    folders: readonly FolderToRead[],
    signal: AbortSignal,
    { lasting, wait_ms, fresh }: { lasting: boolean, wait_ms: number, fresh?: ReadonlySet<string> }
  ): Promise<(Described | Fault | Unread)[]> {
    const reading = this.#reading
    const read_ms = Date.now() // before a module is built or a file is read
    const cached = await mapAtMost(readingMax, folders, async folder => {
      const described = fresh?.has(folder.path) === true ? undefined : await this.#cache.get(folder)
      if (described === undefined && !signal.aborted) reading.start() // while the other folders are looked up
      return described
    })
    try {
      const descriptions = new Map<Folder, Described | Fault>()
      for (const [i, described] of cached.entries()) {
        if (described !== undefined && folders[i] !== undefined) descriptions.set(folders[i], described)
      }
      const unknown = folders.filter(folder => !descriptions.has(folder))
      const left = unknown.filter(folder => !this.#takeLate(folder, descriptions))
      const done = this.#readAll(left, descriptions, read_ms)
      await abortable(this.#wait(done, wait_ms, signal), signal)
      for (const folder of left) if (!descriptions.has(folder)) this.#remember(folder)
      return folders.map(folder => descriptions.get(folder) ?? this.#unread(folder))
    } catch (error) {
      this.#late.clear()
      await reading.stop()
      throw error
    } finally {
      if (!lasting) await reading.rest()
      await this.#cache.save()
    }
  }

  /** Ends the threads. */
  async close (): Promise<void> {
    this.#closed = true
    await Promise.all([this.#confined.close(), this.#reading.close()])
  }

  /**
   * Prevents the module of a serving skill from being pruned.
   * @returns whether the module exists
   */
  keep (module: string): Promise<boolean> {
    return this.#cache.keep(module)
  }

  /**
   * Waits until folders are read, at most up to the time limit. It stops early when all remaining work is stuck, or
   * when the signal aborts.
   */
  async #wait (done: Promise<unknown>, wait_ms: number, signal: AbortSignal): Promise<void> {
    const until_ms = performance.now() + wait_ms
    const goesOn = (): boolean => !signal.aborted && !this.#closed && this.#stuck_ms < wait_ms / 3
    for (let left_ms = wait_ms; left_ms > 0 && goesOn(); left_ms = until_ms - performance.now()) {
      if (await within(Math.min(left_ms, look_ms), done)) return
    }
  }

  /** How long all that still works has been occupied by slow modules, in milliseconds. */
  get #stuck_ms (): number {
    const busy = [this.#reading, this.#confined].filter(({ isBusy }) => isBusy)
    return busy.length === 0 ? 0 : Math.min(...busy.map(({ stuck_ms }) => stuck_ms))
  }

  /** Reads folders and caches their contents. */
  async #readAll (
    folders: readonly FolderToRead[], descriptions: Map<Folder, Described | Fault>, read_ms: number
  ): Promise<void> {
    const modules = folders.filter(({ module }) => module)
    const works: Promise<void>[] = []
    if (modules.length > 1) {
      for (let i = 0; i < modules.length; i += togetherMax) {
        works.push(this.#reading.build(modules.slice(i, i + togetherMax)))
      }
    }
    for (const chunk of chunksOf(folders)) works.push(this.#readChunk(chunk, descriptions, read_ms))
    if (this.#reading.started) works.push(this.#reading.prune())
    await Promise.all(works)
  }

  async #readChunk (
    chunk: readonly FolderToRead[], descriptions: Map<Folder, Described | Fault>, read_ms: number
  ): Promise<void> {
    const answers = await this.#reading.describe(chunk)
    await Promise.all(chunk.map(async (folder, i) => {
      const answer = answers[i]
      if (answer !== undefined) await this.#take(folder, answer, descriptions, read_ms)
    }))
  }

  /** Keeps what a thread said of a folder, or what it says when a confined process has imported the module. */
  async #take (
    folder: FolderToRead, answer: Answer, descriptions: Map<Folder, Described | Fault>, read_ms: number
  ): Promise<void> {
    if (this.#closed) return
    const description = 'awaiting' in answer ? await this.#confined.describe(folder, answer.awaiting) : answer
    if (this.#closed) return
    const timed = 'skill' in description ? { ...description, read_ms } : description
    descriptions.set(folder, timed)
    if ('skill' in timed) await this.#cache.put(folder, timed)
    await this.#tellLate(folder, timed)
  }

  /**
   * Takes a folder's contents, or its state, if it was read or is being read since the last call.
   * @returns whether there was such a result
   */
  #takeLate (folder: Folder, descriptions: Map<Folder, Described | Fault>): boolean {
    const late = this.#late.get(folder.path)
    if (late === undefined || late.revision !== folder.revision) return false
    if (late.description === undefined) return true
    descriptions.set(folder, late.description)
    this.#late.delete(folder.path)
    return true
  }

  /** Remembers a folder whose reading goes on after its caller stopped waiting. */
  #remember ({ path, revision }: Folder): void {
    this.#late.delete(path)
    this.#late.set(path, { revision, description: undefined })
    const [oldest] = this.#late.keys()
    if (this.#late.size > lateMax && oldest !== undefined) this.#late.delete(oldest)
  }

  async #tellLate ({ path, revision }: Folder, description: Described | Fault): Promise<void> {
    const late = this.#late.get(path)
    if (late?.revision !== revision) return
    late.description = description
    await this.#cache.save()
    this.read(path)
  }

  #unread ({ name, path }: Folder): Unread {
    return { name, path, error: 'it takes long to read, and is being read still: it serves as soon as it was; does its module wait for something, or loop, while it is imported?', unread: true }
  }
}

/**
 * Folders without code that runs in the thread are read together in one request, so that reading overlaps with caching;
 * the others are read one by one.
 */
function chunksOf (folders: readonly FolderToRead[]): FolderToRead[][] {
  const chunks: FolderToRead[][] = []
  for (const folder of folders) {
    const last = chunks.at(-1)
    if (last === undefined || last.length >= togetherMax || runsCode(folder) || last.some(runsCode)) {
      chunks.push([folder])
    } else {
      last.push(folder)
    }
  }
  return chunks
}
