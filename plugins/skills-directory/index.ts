import { realpath } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Type } from 'typebox'
import { configHome, definePlugin, type LoadedSkills, type Logger, type SkillSource } from '../../kernel/index.ts'
import { mapAtMost } from './at-most.ts'
import { Describer, DescriberFault } from './describer.ts'
import { DescriptionCache } from './description-cache.ts'
import { listSkills, readingMax, type Listing } from './list.ts'
import type { DescribedSkill, Fault, Folder, Reply } from './protocol.ts'

/** Where the bundled skills lie, beside the compiled plugins. */
const bundledDirectory = fileURLToPath(new URL('../../skills', import.meta.url))
const skillModule = fileURLToPath(new URL('../../kernel/skill.js', import.meta.url))

/** A directory of skill folders. */
interface Place {
  path: string
  /** Whether the user named it, so that its absence is an error. */
  named: boolean
  trusted: boolean
}

/**
 * Skills from directories of skill folders: the bundled ones, those under the user's configuration directory, and the
 * configured ones, later ones shadowing earlier ones of the same name, be they broken or not: a skill that can't be loaded is
 * not replaced by another in silence. What was described before and has not changed since is known from the cache; everything
 * else is read, and its code run, in a worker thread that ends with the loading.
 */
export default definePlugin({
  name: 'skills-directory',
  slot: 'skills',
  options: Type.Object({
    describe_ms: Type.Integer({ default: 10_000, minimum: 100, maximum: 60_000, description: 'How long listing a directory or describing one skill may take, in milliseconds' })
  }, { additionalProperties: false }),
  setup ({ config, scope, log, data_dir }, { describe_ms }): SkillSource {
    const stopped = new AbortController()
    scope.defer(() => { stopped.abort(new Error('the plugin was stopped')) })

    const load = async (signal: AbortSignal): Promise<LoadedSkills> => {
      const cache_dir = join(data_dir, 'cache', 'skills')
      const cache = new DescriptionCache(cache_dir, log)
      const describer = new Describer({
        cache_dir,
        skill_module: skillModule,
        limit_ms: describe_ms,
        heap_bytes_max: config.execution.heap_bytes_max,
        log
      })
      try {
        const trusted = await realPaths(config.skills.trusted)
        const { folders, faults, ignored } = await list(places(config.skills), describe_ms, signal)
        log.debug({ folders: folders.length, ignored }, 'skills directories were listed')
        const loaded = await describe(folders, trusted, cache, describer, signal)
        if (describer.started) await prune(describer, log, signal)
        return { skills: loaded.skills, quarantined: [...faults, ...loaded.quarantined] }
      } finally {
        await describer.end()
      }
    }
    return { load: signal => load(AbortSignal.any([signal, stopped.signal])) }
  }
})

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

function places ({ bundled, directories }: { bundled: boolean, directories: readonly string[] }): Place[] {
  return [
    ...(bundled ? [{ path: bundledDirectory, named: true, trusted: true }] : []),
    { path: join(configHome(process.env), 'skills'), named: false, trusted: false },
    ...directories.map(path => ({ path, named: true, trusted: false }))
  ]
}

interface Found { folders: (Folder & { bundled: boolean })[], faults: Fault[], ignored: number }

/** The folders of all places, without those that are shadowed. Nothing of a skill has run when this is done. */
async function list (places: readonly Place[], limit_ms: number, signal: AbortSignal): Promise<Found> {
  const folders = new Map<string, Folder & { bundled: boolean }>()
  const faults = new Map<string, Fault>()
  let ignored = 0
  for (const place of places) {
    const listing = await listOne(place.path, limit_ms, signal)
    if (!listing.found && !place.named) continue
    ignored += listing.ignored
    for (const fault of listing.faults) {
      if (fault.path !== place.path) folders.delete(fault.name)
      faults.set(fault.path, fault)
    }
    for (const folder of listing.folders) {
      const shadowed = folders.get(folder.name)
      folders.delete(folder.name)
      if (shadowed !== undefined) faults.delete(shadowed.path)
      folders.set(folder.name, { ...folder, bundled: place.trusted })
    }
  }
  return { folders: [...folders.values()], faults: [...faults.values()], ignored }
}

async function listOne (directory: string, limit_ms: number, signal: AbortSignal): Promise<Listing> {
  const limit = AbortSignal.timeout(limit_ms)
  const both = AbortSignal.any([signal, limit])
  // A file system that does not answer holds up a call, which no signal ends.
  const late = new Promise<never>((_resolve, reject) => { both.addEventListener('abort', () => { reject(both.reason) }, { once: true }) })
  try {
    return await Promise.race([listSkills(directory, both), late])
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error
    return { folders: [], ignored: 0, found: true, faults: [{ name: basename(directory), path: directory, error: `the skills directory can't be read: it took longer than ${limit_ms / 1000} s` }] }
  }
}

async function describe (folders: Found['folders'], trustedPaths: readonly string[], cache: DescriptionCache, describer: Describer, signal: AbortSignal): Promise<LoadedSkills> {
  const loaded: LoadedSkills = { skills: [], quarantined: [] }
  const known = await mapAtMost(readingMax, folders, folder => cache.get(folder))
  for (const [index, folder] of folders.entries()) {
    const described = known[index] ?? await describeOne(folder, cache, describer, signal)
    if ('error' in described) loaded.quarantined.push(described)
    else {
      // Said here, and not by the thread in which code of skills runs.
      const trusted = folder.bundled || trustedPaths.some(path => folder.real_path === path || folder.real_path.startsWith(path + sep))
      loaded.skills.push({ ...described, name: folder.name, directory: folder.path, trusted })
    }
  }
  return loaded
}

async function describeOne ({ name, path, real_path, revision }: Folder, cache: DescriptionCache, describer: Describer, signal: AbortSignal): Promise<DescribedSkill | Fault> {
  const folder = { name, path, real_path, revision }
  const ask = async (again: boolean): Promise<DescribedSkill | Fault> => {
    try {
      const { description } = expect(await describer.ask({ type: 'describe', folder }, signal), 'described')
      if ('fault' in description) return description.fault
      await cache.put(folder, description.skill, description.outside)
      return description.skill
    } catch (error) {
      if (!(error instanceof DescriberFault)) throw error
      // What an earlier skill left behind in the thread (a timer, say) may be at fault: a fresh thread tells.
      if (error.suspect && !again) return await ask(true)
      return { name, path, error: error.message }
    }
  }
  return await ask(false)
}

function expect<T extends Reply['type']> (reply: Reply, type: T): Extract<Reply, { type: T }> {
  if (reply.type !== type) throw new DescriberFault(`it was answered by "${reply.type}" instead of "${type}"`, false)
  return reply as Extract<Reply, { type: T }> // by the comparison above
}

/** Without symbolic links; a directory that is not there trusts nothing. */
async function realPaths (paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(path => realpath(path).catch(() => undefined)))
  return found.filter(path => path !== undefined)
}
