import { join } from 'node:path'
import { configHome, definePlugin, isObject, SecretFile, type Config, type SkillSource } from '../../kernel/index.ts'
import type { Library } from './load/library.ts'
import { knownPrograms } from './run/programs.ts'
import { declared } from './settings.ts'
import { Watch } from './watch.ts'

const nothing = { skills: [], quarantined: [], warnings: [] }

/** Skills of the Skill Engine, read where they lie. What reads them is loaded when a directory is configured. */
export default definePlugin({
  ...declared,
  slot: 'skills',
  setup ({ config, scope, log, data_dir }, options): SkillSource {
    const { directories, trusted, programs, describe_ms, watch_ms } = options
    if (directories.length === 0) return { load: async () => nothing }
    const stopped = new AbortController()
    scope.defer(() => { stopped.abort(new Error('the plugin was stopped')) })
    let library: Promise<Library> | undefined
    const open = (): Promise<Library> => library ??= import('./load/library.ts').then(({ Library }) => new Library({
      directories, trusted, describe_ms, log,
      locked: isLocked(config),
      programs: [...new Set([...knownPrograms, ...programs])],
      cache_dir: join(data_dir, 'cache', 'skills', 'engine'),
      heap_bytes_max: config.execution.heap_bytes_max,
      secrets: new SecretFile(configHome(process.env), process.env)
    }))
    const watch = new Watch(async () => await (await open()).stamp(), watch_ms, log)
    return {
      async load (signal, only) {
        const either = AbortSignal.any([signal, stopped.signal])
        await watch.look()
        return await (await open()).load(either, only)
      },
      watch (changed) {
        const stop = watch.start(changed)
        scope.defer(stop)
        return stop
      }
    }
  }
})

/** Whether `skills.locked` is set, which another plugin declares. */
function isLocked (config: Config): boolean {
  const { skills } = config as { skills?: unknown }
  return isObject(skills) && skills['locked'] === true
}
