import { realpath } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Type } from 'typebox'
import { configHome, definePlugin, type LoadedSkills, type Logger, type SkillDefinition, type SkillSource } from '../../kernel/index.ts'
import { Describer, DescriberFault } from './describer.ts'
import type { Fault, Folder, Listing, Reply } from './protocol.ts'

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
 * not replaced by another in silence. All reading, and all code of skills, is in a worker thread that ends with the loading.
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
      const describer = new Describer({
        cache_dir: join(data_dir, 'cache', 'skills'),
        skill_module: skillModule,
        limit_ms: describe_ms,
        heap_bytes_max: config.execution.heap_bytes_max,
        log
      })
      try {
        const trusted = await realPaths(config.skills.trusted)
        const { folders, faults, ignored } = await list(places(config.skills), describer, signal)
        log.debug({ folders: folders.length, ignored }, 'skills directories were listed')
        const loaded = await describe(folders, trusted, describer, signal)
        await prune(describer, log, signal)
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
async function list (places: readonly Place[], describer: Describer, signal: AbortSignal): Promise<Found> {
  const folders = new Map<string, Folder & { bundled: boolean }>()
  const faults = new Map<string, Fault>()
  let ignored = 0
  for (const place of places) {
    const listing = await listOne(place.path, describer, signal)
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

async function listOne (directory: string, describer: Describer, signal: AbortSignal): Promise<Listing> {
  try {
    return expect(await describer.ask({ type: 'list', directory }, signal), 'listed').listing
  } catch (error) {
    if (!(error instanceof DescriberFault)) throw error
    return { folders: [], ignored: 0, found: true, faults: [{ name: basename(directory), path: directory, error: `the skills directory can't be read: ${error.message}` }] }
  }
}

async function describe (folders: Found['folders'], trustedPaths: readonly string[], describer: Describer, signal: AbortSignal): Promise<LoadedSkills> {
  const loaded: LoadedSkills = { skills: [], quarantined: [] }
  for (const folder of folders) {
    const described = await describeOne(folder, describer, signal)
    if ('error' in described) loaded.quarantined.push(described)
    else {
      // Said here, and not by the thread in which code of skills runs.
      const trusted = folder.bundled || trustedPaths.some(path => folder.real_path === path || folder.real_path.startsWith(path + sep))
      loaded.skills.push({ ...described, name: folder.name, directory: folder.path, trusted })
    }
  }
  return loaded
}

async function describeOne (folder: Folder, describer: Describer, signal: AbortSignal): Promise<Omit<SkillDefinition, 'trusted'> | Fault> {
  const request = { type: 'describe', folder: folder.path } as const
  const ask = async (again: boolean): Promise<Omit<SkillDefinition, 'trusted'> | Fault> => {
    try {
      const { description } = expect(await describer.ask(request, signal), 'described')
      return 'skill' in description ? description.skill : description.fault
    } catch (error) {
      if (!(error instanceof DescriberFault)) throw error
      // What an earlier skill left behind in the thread (a timer, say) may be at fault: a fresh thread tells.
      if (error.suspect && !again) return await ask(true)
      return { name: folder.name, path: folder.path, error: error.message }
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
