import { Command } from 'commander'
import {
  configSchema, furtherPlugins, loadPlugins, messageOf, sectionsOf, type AnyPlugin, type ConfigSchema, type Section
} from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The schema of the configuration for one command line. */
export interface CommandSchema extends ConfigSchema {
  /**
   * Why the further plugins could not be loaded; their sections are missing then. A command that needs the plugins
   * reports it, and other errors, such as an unknown flag, can be caused by it.
   */
  readonly fault?: unknown
}

/**
 * The schema of the configuration: the settings of the kernel, of the built-in plugins, and of the further plugins that
 * flags, variables or the file name. Further plugins are loaded, because their flags are known only then.
 * @param words the words of the command line
 * @param builtin the sections of the built-in plugins
 * @throws UsageError when two plugins declare the same setting
 */
export async function commandSchema (
  words: readonly string[],
  builtin: readonly Section[],
  { env, cwd }: Pick<Terminal, 'env' | 'cwd'>
): Promise<CommandSchema> {
  let further: AnyPlugin[]
  try {
    further = await loadPlugins(furtherPlugins({ ...namedIn(words), env, cwd }), cwd)
  } catch (fault) {
    return { ...configSchema(builtin), fault }
  }
  try {
    return configSchema([...builtin, ...further.flatMap(sectionsOf)])
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}

/** The values of `--config` and `--plugins`. All other words are read later, when their flags are known. */
function namedIn (words: readonly string[]): { file?: string, flags: Record<string, unknown> } {
  if (!words.some(word => /^--(config|plugins)(=|$)/.test(word))) return { flags: {} }
  const probe = new Command().allowUnknownOption().exitOverride().configureOutput({ outputError: () => {} })
  probe.option('--config <file>').option('--plugins <value>', '', (value, before: string[]) => [...before, value], [])
  probe.parseOptions([...words])
  const { config: file, plugins } = probe.opts<{ config?: string, plugins: string[] }>()
  return { flags: plugins.length > 0 ? { plugins } : {}, ...(file !== undefined && { file }) }
}
