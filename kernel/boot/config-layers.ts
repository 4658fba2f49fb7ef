import { dirname, resolve } from 'node:path'
import type { JsonObject } from '../contracts/schemas.ts'
import { coerceText } from '../lib/coerce.ts'
import { readEnvFile } from '../lib/env-file.ts'
import { isObject } from '../lib/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { configFile, findFile, fromHome, readFile, type ConfigSources } from './config-files.ts'
import { settings, type Setting } from './settings.ts'

/** The source of a value. */
export type Origin = 'flag' | 'variable' | '.env' | 'file' | 'default'

/** The values of each source, in the order of their priority, the lowest first. */
export function layersOf (sources: ConfigSources): { path: string | undefined, env_file: string, layers: { from: Origin, given: JsonObject }[] } {
  const { flags, env, cwd } = sources
  const path = sources.file === undefined ? findFile(env, cwd) : resolve(cwd, sources.file)
  const values = path === undefined ? {} : readFile(path)
  const folder = dirname(configFile(sources))
  resolvePaths(values, folder)
  const beside = readEnvFile(folder)
  // The environment has priority over `.env`, even when the variable is empty.
  const free = Object.fromEntries(Object.entries(beside.values).filter(([name]) => env[name] === undefined))
  const flagged = flagLayer(flags)
  resolvePaths(flagged, cwd)
  return {
    path, env_file: beside.path,
    layers: [
      { from: 'file', given: values }, { from: '.env', given: variableLayer(free, folder, beside.path) }, { from: 'variable', given: variableLayer(env, cwd, 'environment') }, { from: 'flag', given: flagged }
    ]
  }
}

/** @param where the place of the variables, for error messages */
function variableLayer (env: ConfigSources['env'], folder: string, where: string): JsonObject {
  refuseUnknownVariables(env, where)
  const given: JsonObject = {}
  for (const { path, variable, schema } of settings) {
    const text = env[variable]
    if (text !== undefined && text !== '') put(given, path, fromText(schema, text))
  }
  resolvePaths(given, folder)
  return given
}

function flagLayer (flags: ConfigSources['flags']): JsonObject {
  const flagged: JsonObject = {}
  for (const { path } of settings) {
    const value = flags[path.join('.')]
    if (value !== undefined) put(flagged, path, value)
  }
  return flagged
}

/** The value of a variable. The items of a list are separated by commas. */
function fromText (schema: Setting['schema'], text: string): unknown {
  return schema.type === 'array' ? text.split(',').map(item => item.trim()).filter(item => item !== '') : coerceText(schema, text)
}

/** The prefixes of all sections. Another variable that begins with SKILLET_ may belong to the user. */
const sectionPrefixes = [...new Set(settings.flatMap(({ path: [section, name] }) => section === undefined || name === undefined ? [] : [`SKILLET_${section.toUpperCase()}_`]))]

function refuseUnknownVariables (env: ConfigSources['env'], where: string): void {
  const known = settings.map(setting => setting.variable)
  for (const name of Object.keys(env)) {
    if (sectionPrefixes.some(prefix => name.startsWith(prefix)) && !known.includes(name)) {
      throw new Error(`${where}: ${name} is no setting${didYouMean(name, known)}`)
    }
  }
}

/** Resolves the settings that are paths, or lists of paths. A plugin is a path when it begins with a dot. */
function resolvePaths (values: JsonObject, from: string): void {
  const path = (value: unknown): unknown => {
    if (typeof value !== 'string' || value === '') return value
    return resolve(from, fromHome(value))
  }
  const list = (value: unknown, one: (item: unknown) => unknown): unknown => Array.isArray(value) ? value.map(one) : value
  if ('data_dir' in values) values['data_dir'] = path(values['data_dir'])
  if ('plugins' in values) values['plugins'] = list(values['plugins'], item => typeof item === 'string' && item.startsWith('.') ? path(item) : item)
  const skills = values['skills']
  if (!isObject(skills)) return
  for (const key of ['directories', 'trusted']) if (key in skills) skills[key] = list(skills[key], path)
}

function put (into: JsonObject, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    into[name] = value
    return
  }
  const inner = into[name]
  const table = isObject(inner) ? inner : {}
  into[name] = table
  put(table, rest, value)
}
