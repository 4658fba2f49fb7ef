import { configHome, definePlugin, type SkillSource } from '../../kernel/index.ts'
import { importedFolders } from '../toolkit/skill-engine-folder.ts'
import type { Library } from './load/library.ts'
import { declared } from './settings.ts'
import { Watch } from './watch.ts'

const nothing = { skills: [], quarantined: [], warnings: [] }

/** Skills of the Skill Engine, read where they lie. What reads them is loaded when there is a directory to read. */
export default definePlugin({
  ...declared,
  slot: 'skills',
  setup (context, options): SkillSource {
    const { scope, log } = context
    const home = configHome(process.env)
    const directories = async (): Promise<string[]> => [...await importedFolders(home), ...options.directories]
    const stopped = new AbortController()
    scope.defer(() => { stopped.abort(new Error('the plugin was stopped')) })
    let library: Promise<Library> | undefined
    const open = (): Promise<Library> =>
      library ??= import('./load/open-library.ts').then(({ openLibrary }) => openLibrary(context, options, directories))
    // What reads skills is loaded when there may be any, and kept: they may be gone at the next look.
    const any = async (): Promise<boolean> => library !== undefined || (await directories()).length > 0
    const watch = new Watch(async () => await any() ? await (await open()).stamp() : '', options.watch_ms, log)
    return {
      async load (signal, only) {
        const either = AbortSignal.any([signal, stopped.signal])
        await watch.look()
        if (!await any()) return nothing
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
