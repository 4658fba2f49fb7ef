import { join } from 'node:path'
import type { Static } from 'typebox'
import { configHome, isObject, SecretFile, type Config, type PluginContext } from '../../../kernel/index.ts'
import { ConfinedModules } from '../../toolkit/describing/confined-modules.ts'
import { knownPrograms } from '../run/programs.ts'
import type { declared } from '../settings.ts'
import { replyMax } from '../thread/protocol.ts'
import { CodeCache } from './code-cache.ts'
import { EngineTrust } from './engine-trust.ts'
import { Library } from './library.ts'

/** The longest report of a process, in bytes: JSON makes up to six bytes of a character. */
const report_bytes_max = 6 * replyMax + 65_536

/**
 * The skills of the configured directories, with all that reads them.
 * @param directories the directories as they are now: configured ones, and imported ones
 */
export function openLibrary (
  context: PluginContext, options: Static<typeof declared.options>, directories: () => Promise<readonly string[]>
): Library {
  const { config, scope, log, data_dir } = context
  const { trusted, programs, describe_ms } = options
  const trust = new EngineTrust(trusted, isLocked(config))
  const modules = new ConfinedModules({
    context, limit_ms: describe_ms, report_bytes_max, entry: new URL('../process/entry.js', import.meta.url)
  })
  scope.defer(() => modules.close())
  const { heap_bytes_max } = config.execution
  const cache_dir = join(data_dir, 'cache', 'skills', 'engine')
  return new Library({
    directories, trust,
    codes: new CodeCache({ cache_dir, limit_ms: describe_ms, heap_bytes_max, modules, trust }, log),
    programs: [...new Set([...knownPrograms, ...programs])],
    secrets: new SecretFile(configHome(process.env), process.env)
  })
}

/** Whether `skills.locked` is set, which another plugin declares. */
function isLocked (config: Config): boolean {
  const { skills } = config as { skills?: unknown }
  return isObject(skills) && skills['locked'] === true
}
