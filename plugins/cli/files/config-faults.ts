import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import {
  didYouMean, faultOfInstances, isAbsent, isObject, loadPlugins, messageOf, pluginOptions, type AnyPlugin,
  type ExplainedConfig, type Origin, type Setting
} from '../../../kernel/index.ts'
import { everyPlugin, type BuiltinPlugins } from '../boot.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The origin of a setting's value, such as `/home/me/skillet.toml` or `--data-dir and SKILLET_DATA_DIR`. */
export function placesOf (
  { file, env_file }: ExplainedConfig,
  { setting, origins }: ExplainedConfig['settings'][number]
): string {
  const places: Record<Origin, string> = {
    flag: setting.flag, variable: setting.variable, '.env': env_file, file: file ?? 'file', default: 'default'
  }
  return origins.map(origin => places[origin]).join(' and ')
}

/**
 * The faults of a configuration with the right shape, one a line with its place: options that plugins don't accept, and
 * folders that can't be used. Loads the plugins that the configuration names.
 */
export async function faultsOf (
  explained: ExplainedConfig,
  builtin: BuiltinPlugins,
  { cwd }: Terminal
): Promise<string[]> {
  const instances = instanceFaults(explained)
  return [...instances, ...await folderFaults(explained), ...await pluginFaults(explained, builtin, cwd)]
}

function instanceFaults ({ config, file = '' }: ExplainedConfig): string[] {
  return Object.entries(config.skills.instances).flatMap(([skill, instances]) => {
    const fault = faultOfInstances(skill, instances)
    return fault === undefined ? [] : [`${file}: ${fault}`]
  })
}

async function folderFaults (explained: ExplainedConfig): Promise<string[]> {
  const faults: string[] = []
  for (const entry of explained.settings) {
    const name = entry.setting.path.join('.')
    const { value } = entry
    const folders = (Array.isArray(value) ? value : [value]).filter(item => typeof item === 'string')
    for (const folder of folders) {
      const fault = name === 'data_dir'
        && folder !== '' ? await folderFault(folder, constants.R_OK | constants.W_OK | constants.X_OK, { made: true })
        : isDirectory(entry.setting) && isAbsolute(folder) ? await folderFault(folder, constants.R_OK | constants.X_OK)
        : undefined
      if (fault !== undefined) faults.push(`${placesOf(explained, entry)}: ${name}: ${fault}`)
    }
  }
  return faults
}

/** Whether the values of a setting are directories. Those that are not absolute are names. */
function isDirectory ({ schema: { format, items } }: Setting): boolean {
  const own = isObject(items) ? items['format'] : format
  return own === 'directory' || own === 'directory-or-name'
}

/** @param made whether the program creates the folder when it is missing */
async function folderFault (folder: string, mode: number, { made = false } = {}): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is not a directory`
    await access(folder, mode)
    return undefined
  } catch (error) {
    if (!isAbsent(error)) return `${folder} can't be used: ${messageOf(error)}`
    return made ? undefined : `${folder} is not there`
  }
}

async function pluginFaults (explained: ExplainedConfig, builtin: BuiltinPlugins, cwd: string): Promise<string[]> {
  const { config, file = '' } = explained
  if (config.plugins.length === 0 && Object.keys(config.plugin).length === 0) return []
  const faults: string[] = []
  const plugins: AnyPlugin[] = await everyPlugin(builtin)
  const named = explained.settings.find(({ setting }) => setting.path.join('.') === 'plugins')
  for (const specifier of config.plugins) {
    try {
      plugins.push(...await loadPlugins([specifier], cwd))
    } catch (error) {
      faults.push(`${named === undefined ? file : placesOf(explained, named)}: ${messageOf(error).split('\n')[0]}`)
    }
  }
  const complete = faults.length === 0
  for (const [name, options] of Object.entries(config.plugin)) {
    const plugin = plugins.find(plugin => plugin.name === name)
    try {
      if (plugin !== undefined) {
        pluginOptions(plugin, options)
      } else if (complete) {
        faults.push(`${file}: plugin.${name}: there is no plugin of this name${didYouMean(name, plugins.map(({ name }) => name))}`)
      }
    } catch (error) {
      faults.push(`${file}: ${messageOf(error)}`)
    }
  }
  return faults
}
