import { Command } from 'commander'
import {
  configSchema, furtherPlugins, loadPlugins, sectionsOf, type ConfigSchema, type Section
} from '../../../kernel/index.ts'
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
 */
export async function commandSchema (
  words: readonly string[],
  builtin: readonly Section[],
  { env, cwd }: Pick<Terminal, 'env' | 'cwd'>
): Promise<CommandSchema> {
  try {
    const specifiers = furtherPlugins({ ...namedIn(words), env, cwd })
    const sections = (await loadPlugins(specifiers, cwd)).flatMap(sectionsOf)
    return configSchema([...builtin, ...sections])
  } catch (fault) {
    return { ...configSchema(builtin), fault }
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
