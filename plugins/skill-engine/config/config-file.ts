import { parse } from 'smol-toml'
import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { brief } from '../text/names.ts'
import { plainInstance, readRaw, type Instance } from './instance.ts'
import { castText, tableOf, WrongType } from './values.ts'

/**
 * Reads `skill.config.toml`, the settings of a folder that is loaded by itself, in both of its forms.
 * @throws Error in one line
 */
export function parseConfigFile (text: string, notes: string[]): Instance {
  const table = parseToml(text)
  const settings = readSettings(table, notes)
  const { config: _config, metadata: _metadata, environment = {}, ...rest } = table
  const raw = readRaw({ ...rest, env: environment } as JsonObject, '', notes)
  return {
    ...plainInstance,
    ...settings,
    env: raw.env,
    network_said: raw.network !== undefined,
    capabilities: {
      network_access: raw.network === true,
      allowed_paths: raw.paths,
      max_concurrent_requests: raw.concurrency ?? plainInstance.capabilities.max_concurrent_requests
    }
  }
}

/** `key = "value"`, or `key = { value = "…", secret = true }`. */
function readSettings (table: JsonObject, notes: string[]): Pick<Instance, 'config' | 'secrets'> {
  const config: Record<string, string> = {}
  const secrets: string[] = []
  for (const [key, given] of Object.entries(tableOf(table, 'config', ''))) {
    const { value, secret } = isObject(given) ? given : { value: given, secret: false }
    const text = castText(value, `config.${key}`, notes)
    if (secret === true || isElsewhere(text)) secrets.push(key)
    if (!isElsewhere(text)) config[key] = text
  }
  return { config, secrets }
}

/** Whether a value says that the secret is in a keyring. */
export function isElsewhere (value: string): boolean {
  return value.startsWith('keyring://')
}

/** Reads TOML. @throws Error in one line, with the place of the fault */
export function parseToml (text: string): JsonObject {
  try {
    return parse(text, { maxDepth: 32 }) as JsonObject // numbers, texts, tables, lists and dates
  } catch (error) {
    const place = error instanceof Error && 'line' in error && 'column' in error
      ? `:${String(error.line)}:${String(error.column)} `
      : ' '
    const [first = ''] = messageOf(error).replace(/^Invalid TOML document: /, '').split('\n', 1)
    throw new WrongType(`${place}is not valid TOML: ${brief(first, 120)}`, { cause: error })
  }
}
