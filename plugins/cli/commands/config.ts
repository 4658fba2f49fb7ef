import { mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { IsObject, Type, type TObject } from 'typebox'
import {
  configHome, explainConfig, hasCode, isObject, messageOf, SkilletError, type ConfigSchema, type ExplainedConfig
} from '../../../kernel/index.ts'
import { UsageError, type BuiltinPlugins } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { faultsOf, placesOf } from '../files/config-faults.ts'
import { configText } from '../files/config-text.ts'
import { configTitle, fileSchema } from '../files/json-schema.ts'
import { align } from '../terminal/layout.ts'
import type { CommandSchema } from '../options/config-schema.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Options { json?: boolean, config?: string }

const schemaFile = fileURLToPath(new URL('../../../schemas/skillet.schema.json', import.meta.url))

/** `skillet config show|check|init|schema`: shows, checks or creates the settings of this program. */
const define: DefineCommand = (config, { terminal, builtin, schema }) => {
  const add = (
    name: string,
    description: string,
    isDefault: boolean,
    act: (explained: ExplainedConfig, json: boolean) => void | Promise<void>
  ): void => {
    const command = config.command(name, { isDefault }).description(description).option('--json', 'print JSON')
    const readFlags = addSettingOptions(command, schema, { serve: true })
    command.action((options: Options) => act(explain(readFlags(), schema, terminal), options.json ?? false))
  }
  add('show', 'Show each setting, its value and where it comes from', true, (explained, json) => {
    show(explained, schema, json, terminal)
  })
  add('check', 'Check the configuration', false, (explained, json) => check(explained, json, terminal, builtin))
  init(config.command('init').description('Write a skillet.toml with every setting, commented out; one that is there is left alone'), schema, terminal)
  printSchema(
    config.command('schema').description('Print the JSON Schema of skillet.toml, for editors'), schema, terminal
  )
}
export default define

/** @throws UsageError with the fault */
function explain (settingFlags: SettingFlags, schema: ConfigSchema, { env, cwd }: Terminal): ExplainedConfig {
  try {
    return explainConfig({ ...settingFlags, env, cwd }, schema)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function show (explained: ExplainedConfig, { schema }: ConfigSchema, json: boolean, terminal: Terminal): void {
  const { file, settings } = explained
  const tables = tablesIn(schema, explained.config, [])
  if (json) {
    const shown = settings.map(({ setting, value, origins }) =>
      ({ setting: setting.path.join('.'), value, from: origins }))
    terminal.out(`${JSON.stringify({ file: file ?? null, settings: shown, tables })}\n`)
    return
  }
  const rows = settings.map(
    entry => [entry.setting.path.join('.'), JSON.stringify(entry.value), placesOf(explained, entry)]
  )
  terminal.out(
    align([...rows, ...Object.entries(tables).map(([name, keys]) => [name, keys.join(', '), file ?? 'file'])])
  )
}

/** Tables of the file with free keys. Their values may be confidential, so only the names are shown. */
function tablesIn (schema: TObject, values: object, path: readonly string[]): Record<string, string[]> {
  const tables: Record<string, string[]> = {}
  for (const [name, value] of Object.entries(values)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (property === undefined) {
      tables[[...path, name].join('.')] = isObject(value) ? Object.keys(value) : []
    } else if (IsObject(property) && isObject(value)) {
      Object.assign(tables, tablesIn(property, value, [...path, name]))
    } else if ('additionalProperties' in property && isObject(value)) {
      Object.assign(tables, tablesIn(Type.Object({}), value, [...path, name]))
    }
  }
  return tables
}

/** @throws SkilletError INVALID_PARAMETERS with a line for each fault */
async function check (
  explained: ExplainedConfig, json: boolean, terminal: Terminal, builtin: BuiltinPlugins
): Promise<void> {
  const faults = await faultsOf(explained, builtin, terminal)
  if (faults.length > 0) throw new SkilletError('INVALID_PARAMETERS', faults.join('\n'), { faults })
  const { file, settings } = explained
  const changed = settings.filter(({ origins }) => origins[0] !== 'default').length
  if (json) {
    terminal.out(`${JSON.stringify({ ok: true, file: file ?? null, given: changed })}\n`)
  } else {
    terminal.out(`${file ?? 'No configuration file; the rest'} is in order. ${changed} of ${settings.length} settings are not at their default.\n`)
  }
}

function printSchema (command: Command, schema: CommandSchema, terminal: Terminal): void {
  addSettingOptions(command, schema, { serve: true })
  command.action(() => {
    if (schema.fault !== undefined) throw new UsageError(messageOf(schema.fault))
    terminal.out(`${JSON.stringify(fileSchema(configTitle, schema.schema), null, 2)}\n`)
  })
}

function init (command: Command, schema: ConfigSchema, terminal: Terminal): void {
  command.option('--json', 'print JSON')
    .option('--config <file>', 'where to write it; by default in your configuration directory')
    .action(async ({ json = false, config }: Options) => {
      const path = config === undefined ? join(configHome(terminal.env), 'skillet.toml') : resolve(terminal.cwd, config)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      let file
      try {
        file = await open(path, 'wx', 0o600) // users may add keys to this file
      } catch (error) {
        if (hasCode(error, 'EEXIST')) {
          throw new SkilletError('CONFLICT', `${path} is there already, and left as it is`, { path })
        }
        throw error
      }
      try {
        await file.writeFile(configText(schema, schemaFile))
      } finally {
        await file.close()
      }
      terminal.out(json ? `${JSON.stringify({ path })}\n` : `${path}\n`)
    })
}
