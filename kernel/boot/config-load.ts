import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { IsObject, type TObject } from 'typebox'
import { coerceText } from '../lib/coerce.ts'
import { checkGiven } from '../schema/check-given.ts'
import { Config } from '../contracts/config.ts'
import { readEnvFile } from '../lib/env-file.ts'
import { messageOf } from '../lib/errors.ts'
import { isAbsent } from '../lib/file.ts'
import { isObject } from '../lib/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { JsonObject } from '../contracts/schemas.ts'

/** A scalar or list setting: where it stands, and what it is called elsewhere. */
export interface Setting {
  /** `['server', 'port']` */
  path: readonly string[]
  /** `--server-port` */
  flag: string
  /** `SKILLET_SERVER_PORT` */
  variable: string
  /** Its schema. */
  schema: { type?: unknown, description?: unknown, default?: unknown, items?: unknown }
}

/** Every setting that a flag or variable can give, derived from the schema. */
export const settings: readonly Setting[] = settingsOf(Config, [])

function settingsOf (schema: TObject, path: readonly string[]): Setting[] {
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const at = [...path, name]
    if (IsObject(property)) return settingsOf(property, at)
    if ('additionalProperties' in property) return [] // an open table can only be given in the file
    const words = at.join('_')
    return [{ path: at, flag: `--${words.replaceAll('_', '-')}`, variable: `SKILLET_${words.toUpperCase()}`, schema: property }]
  })
}

/** Where settings come from, the strongest first. */
export interface ConfigSources {
  /** Values by path, such as `server.port`, from the command line. Lists are added to those of variable and file. */
  flags: Readonly<Record<string, unknown>>
  env: Readonly<Record<string, string | undefined>>
  /** The file named by `--config`; where absent, `skillet.toml` in `cwd`, then in `skillet/` under the user's configuration directory. */
  file?: string
  cwd: string
}

/**
 * The configuration: flag, then variable, then `.env` beside the file, then file, then default. Frozen. Relative paths of the
 * file and of `.env` are read from their folder, those of flags and variables from `cwd`.
 * @throws Error naming the file or variable, the key, and the nearest known one
 */
export function loadConfig (sources: ConfigSources): Config {
  const { path, layers } = layersOf(sources)
  const values: JsonObject = {}
  for (const { from, given } of layers) merge(values, structuredClone(given), from === 'flag')
  return freeze(checked(values, path))
}

/** Where a value comes from. */
export type Origin = 'flag' | 'variable' | '.env' | 'file' | 'default'

/** The configuration, and where each setting of it comes from. */
export interface ExplainedConfig {
  config: Config
  /** The configuration file, if there is one. */
  file: string | undefined
  /** The `.env` beside it, which need not exist. */
  env_file: string
  settings: { setting: Setting, value: unknown, origins: Origin[] }[]
}

/** The configuration with the origins of its values; a list that flags add to has several. @throws Error as `loadConfig` */
export function explainConfig (sources: ConfigSources): ExplainedConfig {
  const config = loadConfig(sources)
  const { path: file, env_file, layers } = layersOf(sources)
  return {
    config, file, env_file,
    settings: settings.map(setting => {
      const origins = layers.filter(({ given }) => at(given, setting.path) !== undefined).map(({ from }) => from).toReversed()
      // Only flags add to what others gave.
      const counting = origins[0] === 'flag' && setting.schema.type === 'array' ? origins.slice(0, 2) : origins.slice(0, 1)
      return { setting, value: at(config, setting.path), origins: counting.length === 0 ? ['default'] : counting }
    })
  }
}

/** What each source gives, the weakest first. */
function layersOf (sources: ConfigSources): { path: string | undefined, env_file: string, layers: { from: Origin, given: JsonObject }[] } {
  const { flags, env, cwd } = sources
  const path = sources.file === undefined ? findFile(env, cwd) : resolve(cwd, sources.file)
  const values = path === undefined ? {} : readFile(path)
  const folder = dirname(configFile(sources))
  resolvePaths(values, folder)
  const beside = readEnvFile(folder)
  // The environment is stronger, even where it says nothing but an empty text.
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

/** @param where they stand, for messages */
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

function at (values: unknown, path: readonly string[]): unknown {
  return path.reduce((inner: unknown, name) => isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined, values)
}

/** Checks and completes a whole configuration. Exported for tests and for programs that embed the kernel. */
export function completeConfig (values: JsonObject): Config {
  return freeze(checked(structuredClone(values), undefined))
}

function checked (values: JsonObject, path: string | undefined): Config {
  const wrong = checkGiven(Config, values)
  if (wrong !== undefined) throw new Error(`configuration${path === undefined ? '' : ` ${path}`}: ${wrong.replaceAll('/', '.').replace(/^body /, '')}`)
  const config = values as Config // the check above is what makes it so
  if (config.execution.timeout_ms > config.execution.timeout_ms_max) {
    throw new Error('configuration: execution.timeout_ms must not be more than execution.timeout_ms_max')
  }
  return config
}

function findFile (env: ConfigSources['env'], cwd: string): string | undefined {
  return [join(cwd, 'skillet.toml'), join(configHome(env), 'skillet.toml')].find(isThere)
}

/** The configuration file in use; where there is none, the one that would be: in `skillet/` under the user's configuration directory. */
export function configFile ({ file, env, cwd }: Omit<ConfigSources, 'flags'>): string {
  return file === undefined ? findFile(env, cwd) ?? join(configHome(env), 'skillet.toml') : resolve(cwd, file)
}

/** `skillet` under the user's configuration directory (XDG). */
export function configHome (env: ConfigSources['env']): string {
  return join(absolute(env['XDG_CONFIG_HOME']) ?? join(homedir(), '.config'), 'skillet')
}

/** `skillet` under the user's data directory (XDG). */
export function dataHome (env: ConfigSources['env']): string {
  return join(absolute(env['XDG_DATA_HOME']) ?? join(homedir(), '.local', 'share'), 'skillet')
}

/** A path that may begin with `~/`, the user's home directory. */
export function fromHome (path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
}

/** XDG: a relative path in these variables is to be ignored. */
function absolute (path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined
}

function isThere (path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch (error) {
    return !isAbsent(error)
  }
}

function readFile (path: string): JsonObject {
  let text
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`configuration ${path} can't be read: ${messageOf(error)}`, { cause: error })
  }
  try {
    return parse(text)
  } catch (error) {
    const where = error instanceof TomlError ? `:${error.line}:${error.column}` : ''
    throw new Error(`configuration ${path}${where} is not valid TOML: ${messageOf(error).split('\n')[0]}`, { cause: error })
  }
}

/** Variables of lists hold their items separated by commas. */
function fromText (schema: Setting['schema'], text: string): unknown {
  return schema.type === 'array' ? text.split(',').map(item => item.trim()).filter(item => item !== '') : coerceText(schema, text)
}

/** Of sections: what else begins with SKILLET_ may be somebody's own. */
const sectionPrefixes = [...new Set(settings.flatMap(({ path: [section, name] }) => section === undefined || name === undefined ? [] : [`SKILLET_${section.toUpperCase()}_`]))]

function refuseUnknownVariables (env: ConfigSources['env'], where: string): void {
  const known = settings.map(setting => setting.variable)
  for (const name of Object.keys(env)) {
    if (sectionPrefixes.some(prefix => name.startsWith(prefix)) && !known.includes(name)) {
      throw new Error(`${where}: ${name} is no setting${didYouMean(name, known)}`)
    }
  }
}

/** Settings that are paths, or lists of them. Plugins are, when they begin with a dot. */
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

function merge (into: JsonObject, from: JsonObject, addLists: boolean): void {
  for (const [key, value] of Object.entries(from)) {
    const present = into[key]
    if (isObject(value) && isObject(present)) merge(present, value, addLists)
    else if (addLists && Array.isArray(value) && Array.isArray(present)) into[key] = [...present, ...value]
    else into[key] = value
  }
}

function freeze<T> (value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}
