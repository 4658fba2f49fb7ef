import { Option, type Command } from 'commander'
import { coerceText, type ConfigSchema, type Setting } from '../../../kernel/index.ts'

/** The values of the flags by setting path, and the file that `--config` names. */
export interface SettingFlags { file?: string, flags: Record<string, unknown> }

/** Short flags of settings, in place of the derived flags; `--help` shows only these. */
const short: Readonly<Record<string, string>> = {
  'data_dir': '--data-dir <dir>',
  'log_level': '--log-level <level>',
  'skills.directories': '--skills <dir>',
  'skills.trusted': '--trust <dir>',
  'skills.bundled': '--no-bundled-skills'
}

/** Further short flags, only for the server. */
const shortForServe: Readonly<Record<string, string>> = {
  'server.host': '--host <address>',
  'server.port': '--port <number>',
  'server.auth_required': '--auth-required',
  'server.allow_insecure': '--allow-insecure'
}

/**
 * Adds `--config` and a flag for every setting, and collects their values.
 * @returns a function that returns the values by setting path
 */
export function addSettingOptions (
  command: Command,
  { settings }: ConfigSchema,
  { serve = false }: { serve?: boolean } = {}
): () => SettingFlags {
  const flags: Record<string, unknown> = {}
  let file: string | undefined
  const add = (option: Option, take: (value: unknown) => void): void => {
    command.addOption(option)
    command.on(`option:${option.name()}`, take)
  }
  add(new Option('--config <file>', 'configuration file'), value => { file = String(value) })
  const shown = { ...short, ...(serve ? shortForServe : {}) }
  for (const setting of settings) {
    const key = setting.path.join('.')
    const take = (value: unknown): void => { flags[key] = valueOf(setting, value, flags[key]) }
    const brief = shown[key]
    if (brief !== undefined) {
      add(new Option(brief, descriptionOf(setting, brief)), value => {
        take(brief.startsWith('--no-') ? 'false' : value)
      })
    }
    if (brief?.split(' ')[0] !== setting.flag) {
      add(new Option(`${setting.flag}${placeholder(setting)}`, descriptionOf(setting, setting.flag)).hideHelp(), take)
    }
  }
  command.addHelpText('after', '\nEvery setting of skillet.toml has a flag, such as --storage-durability, and a variable, such as SKILLET_STORAGE_DURABILITY.')
  return () => ({ flags, ...(file !== undefined && { file }) })
}

function placeholder ({ schema }: Setting): string {
  switch (schema.type) {
    case 'array': return ' <value>'
    case 'boolean': return ' [value]'
    default: return ' <value>'
  }
}

/**
 * Converts a flag's text to the setting's type. Each use of a flag adds to a list; a boolean without a value is true.
 */
function valueOf ({ schema }: Setting, value: unknown, before: unknown): unknown {
  if (schema.type === 'array') return [...(Array.isArray(before) ? before : []), value]
  if (value === null || value === undefined) return true
  return coerceText(schema, String(value))
}

function descriptionOf ({ schema }: Setting, flag: string): string {
  const text = String(schema.description ?? '')
  const lead = flag.startsWith('--no-') ? 'do not ' : ''
  return lead + text.charAt(0).toLowerCase() + text.slice(1)
}
