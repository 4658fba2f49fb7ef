import { dirname, resolve } from 'node:path'
import type { JsonObject } from '../contracts/schemas.ts'
import { pathFormats } from '../contracts/section.ts'
import { coerceText } from '../lib/coerce.ts'
import { readEnvFile } from '../lib/env-file.ts'
import { isObject } from '../lib/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { configFile, findFile, fromHome, readFile, type ConfigSources } from './config-files.ts'
import type { Setting } from './config-schema.ts'

/** The source of a value. */
export type Origin = 'flag' | 'variable' | '.env' | 'file' | 'default'

/** The values of each source. */
export interface Layers {
  /** The configuration file, if there is one. */
  path: string | undefined
  /** The `.env` beside the configuration file; it may be missing. */
  env_file: string
  /** In the order of their priority, the lowest first. */
  layers: { from: Origin, content: JsonObject }[]
}

/**
 * Reads the values of each source.
 * @throws Error with the file or variable and the fault
 */
export function layersOf (sources: ConfigSources, settings: readonly Setting[]): Layers {
  const { flags, env, cwd } = sources
  const path = sources.file === undefined ? findFile(env, cwd) : resolve(cwd, sources.file)
  const values = path === undefined ? {} : readFile(path)
  const folder = dirname(configFile(sources))
  resolvePaths(values, settings, folder)
  const beside = readEnvFile(folder)
  // The environment has priority over `.env`, even when the variable is empty.
  const free = Object.fromEntries(Object.entries(beside.values).filter(([name]) => env[name] === undefined))
  const flagged = flagLayer(flags, settings)
  resolvePaths(flagged, settings, cwd)
  return {
    path, env_file: beside.path,
    layers: [
      { from: 'file', content: values },
      { from: '.env', content: variableLayer(free, settings, folder, beside.path) },
      { from: 'variable', content: variableLayer(env, settings, cwd, 'environment') },
      { from: 'flag', content: flagged }
    ]
  }
}

/** @param where the place of the variables, for error messages */
function variableLayer (
  env: ConfigSources['env'], settings: readonly Setting[], folder: string, where: string
): JsonObject {
  refuseUnknownVariables(env, settings, where)
  const values: JsonObject = {}
  for (const { path, variable, schema } of settings) {
    const text = env[variable]
    if (text !== undefined && text !== '') put(values, path, fromText(schema, text))
  }
  resolvePaths(values, settings, folder)
  return values
}

function flagLayer (flags: ConfigSources['flags'], settings: readonly Setting[]): JsonObject {
  const flagged: JsonObject = {}
  for (const { path } of settings) {
    const value = flags[path.join('.')]
    if (value !== undefined) put(flagged, path, value)
  }
  return flagged
}

/** The value of a variable. The items of a list are separated by commas. */
function fromText (schema: Setting['schema'], text: string): unknown {
  return schema.type === 'array'
    ? text.split(',').map(item => item.trim()).filter(item => item !== '')
    : coerceText(schema, text)
}

/**
 * Refuses a variable that begins like the settings of a section and is none. Another variable that begins with SKILLET_
 * may belong to the user.
 */
function refuseUnknownVariables (env: ConfigSources['env'], settings: readonly Setting[], where: string): void {
  const variables = new Set(settings.map(({ variable }) => variable))
  const prefixes = new Set(settings.filter(({ path }) => path.length > 1)
    .map(({ path, variable }) => variable.slice(0, -(path.at(-1) ?? '').length)))
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SKILLET_') || variables.has(name)) continue
    if ([...prefixes].some(prefix => name.startsWith(prefix))) {
      throw new Error(`${where}: ${name} is no setting${didYouMean(name, [...variables])}`)
    }
  }
}

/** Resolves the values of the settings that are paths, or lists of paths. */
function resolvePaths (values: JsonObject, settings: readonly Setting[], from: string): void {
  for (const { path, schema } of settings) {
    const format = isObject(schema.items) ? schema.items['format'] : schema.format
    if (!pathFormats.some(pathFormat => pathFormat === format)) continue
    const table = path.slice(0, -1).reduce((inner: unknown, name) => isObject(inner) ? inner[name] : undefined, values)
    const name = path.at(-1) ?? ''
    if (!isObject(table) || !Object.hasOwn(table, name)) continue
    const absolute = (value: unknown): unknown =>
      typeof value === 'string' && isPath(value, format) ? resolve(from, fromHome(value)) : value
    const value = table[name]
    table[name] = Array.isArray(value) ? value.map(absolute) : absolute(value)
  }
}

function isPath (value: string, format: unknown): boolean {
  return format === 'directory' ? value !== '' : /^(\.|~\/)/.test(value)
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
