import { realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config, Logger } from '../../kernel/index.ts'
import { mapAtMost } from './at-most.ts'
import { Describer, DescriberFault } from './describer.ts'
import { DescriptionCache } from './description-cache.ts'
import { readingMax } from './list.ts'
import type { Described, Fault, Folder, Reply } from './protocol.ts'

const skillModule = fileURLToPath(new URL('../../kernel/skill.js', import.meta.url))

export interface DescribingOptions {
  config: Config
  data_dir: string
  /** How long describing one skill may take. */
  describe_ms: number
  log: Logger
}

/** The most folders that are read in one request. */
const togetherMax = 50
/** How long the thread is kept for what an author saves next. */
const keep_ms = 10_000

/**
 * Describes folders: what was described before and has not changed since is known from the cache; everything else is read, and
 * its code run, in a worker thread.
 */
export class Describing {
  readonly #options: DescribingOptions
  readonly #directory: string
  readonly #cache: DescriptionCache
  readonly #describer: Describer
  #idle: NodeJS.Timeout | undefined

  constructor (options: DescribingOptions) {
    this.#options = options
    this.#directory = join(options.data_dir, 'cache', 'skills')
    this.#cache = new DescriptionCache(this.#directory, options.log)
    this.#describer = new Describer({
      cache_dir: this.#directory, skill_module: skillModule, limit_ms: options.describe_ms, heap_bytes_max: options.config.execution.heap_bytes_max, log: options.log
    })
  }

  /**
   * Describes folders, one call at a time.
   * @param lasting whether more is to be described soon, so that the thread stays for a while
   * @returns what each folder holds, in their order. Rejects only with the signal's reason.
   */
  async describe (folders: readonly Folder[], signal: AbortSignal, { lasting }: { lasting: boolean }): Promise<(Described | Fault)[]> {
    const describer = this.#describer
    clearTimeout(this.#idle)
    const known = await mapAtMost(readingMax, folders, async folder => {
      const described = await this.#cache.get(folder)
      if (described === undefined && !signal.aborted) describer.start() // while others are looked up
      return described
    })
    const kept: Promise<void>[] = []
    try {
      const found: (Described | Fault | undefined)[] = [...known]
      const unknown = [...folders.entries()].filter(([i]) => known[i] === undefined)
      await build(unknown.map(([, folder]) => folder).filter(({ module }) => module), describer, signal)
      for (const chunk of chunksOf(unknown)) {
        const described = await describeAll(chunk.map(([, folder]) => folder), describer, signal)
        for (const [at, [i, folder]] of chunk.entries()) {
          const one = found[i] = described[at] ?? { name: folder.name, path: folder.path, error: 'the folder was not described' }
          if ('skill' in one) kept.push(this.#cache.put(folder, one))
        }
      }
      if (describer.started) await prune(describer, this.#options.log, signal)
      return found.filter(one => one !== undefined)
    } finally {
      if (lasting && !signal.aborted) this.#idle = setTimeout(() => { void describer.end() }, keep_ms).unref()
      else await describer.end()
      await Promise.all(kept)
      await this.#cache.save()
    }
  }

  /** Ends the thread. */
  async close (): Promise<void> {
    clearTimeout(this.#idle)
    await this.#describer.end()
  }

  /** Sees to it that the module of a skill that serves is not pruned. @returns whether it is there at all */
  keep (module: string): Promise<boolean> {
    return this.#cache.keep(module)
  }

  /** Where scripts are trusted, without symbolic links; a directory that is not there trusts nothing. */
  async trustedPaths (): Promise<(path: string) => boolean> {
    const found = await Promise.all(this.#options.config.skills.trusted.map(path => realpath(path).catch(() => undefined)))
    return path => found.some(trusted => trusted !== undefined && (path === trusted || path.startsWith(trusted + sep)))
  }
}

/** Folders that only have to be read are asked for together, which overlaps reading them with keeping what was read; those whose code runs, alone. */
function chunksOf (folders: [number, Folder][]): [number, Folder][][] {
  const chunks: [number, Folder][][] = []
  for (const one of folders) {
    const last = chunks.at(-1)
    if (last === undefined || last.length >= togetherMax || one[1].module || last.some(([, { module }]) => module)) chunks.push([one])
    else last.push(one)
  }
  return chunks
}

/** Builds modules before they are described, one after another. That they can't be built is told then. */
async function build (folders: readonly Folder[], describer: Describer, signal: AbortSignal): Promise<void> {
  if (folders.length < 2) return
  for (let i = 0; i < folders.length; i += togetherMax) {
    try {
      await describer.ask({ type: 'build', folders: folders.slice(i, i + togetherMax) }, signal)
    } catch (error) {
      if (!(error instanceof DescriberFault)) throw error
      return // there are too many for the time they have together
    }
  }
}

async function describeAll (folders: readonly Folder[], describer: Describer, signal: AbortSignal, again = false): Promise<(Described | Fault)[]> {
  try {
    const { descriptions } = expect(await describer.ask({ type: 'describe', folders: [...folders] }, signal), 'described')
    return descriptions.map(description => {
      if ('fault' in description) return description.fault
      const { ran_code: _ran, ...described } = description
      return described
    })
  } catch (error) {
    if (!(error instanceof DescriberFault)) throw error
    const [folder, ...more] = folders
    if (folder === undefined) return []
    if (more.length > 0) { // one of them, or too many for the time they have together
      const found: (Described | Fault)[] = []
      for (const one of folders) found.push(...await describeAll([one], describer, signal))
      return found
    }
    // What an earlier skill left behind in the thread (a timer, say) may be at fault: a fresh thread tells.
    if (error.suspect && !again) return await describeAll(folders, describer, signal, true)
    return [{ name: folder.name, path: folder.path, error: error.message }]
  }
}

/** Removes old builds. What keeps it from that (a skill that ended the thread late, say) is no reason not to serve. */
async function prune (describer: Describer, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const { removed } = expect(await describer.ask({ type: 'prune' }, signal), 'pruned')
    if (removed > 0) log.debug({ removed }, 'unused builds of skills were removed')
  } catch (error) {
    if (!(error instanceof DescriberFault)) throw error
    log.debug({ error: error.message }, 'unused builds of skills were not removed')
  }
}

function expect<T extends Reply['type']> (reply: Reply, type: T): Extract<Reply, { type: T }> {
  if (reply.type !== type) throw new DescriberFault(`it was answered by "${reply.type}" instead of "${type}"`, false)
  return reply as Extract<Reply, { type: T }> // by the comparison above
}
