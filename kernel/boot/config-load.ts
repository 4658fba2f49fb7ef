import { IsObject, type TObject } from 'typebox'
import type { Config } from '../contracts/config.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { isObject } from '../lib/json.ts'
import { checkGiven } from '../schema/check-given.ts'
import { compileCheck } from '../schema/validation.ts'
import type { ConfigSources } from './config-files.ts'
import { layersOf, type Origin } from './config-layers.ts'
import { rememberChecked } from './plugin-options.ts'
import { configSchema, type ConfigSchema, type Setting } from './config-schema.ts'

/**
 * Loads the configuration and freezes it. The priority of the sources, from the highest: flag, variable, `.env` beside
 * the file, file, default value. Relative paths in the file and in `.env` are relative to their folder; relative paths
 * in flags and variables are relative to `cwd`.
 * @throws Error with the file or variable, the key, and the nearest known key
 */
export function loadConfig (sources: ConfigSources, schema: ConfigSchema): Config {
  const { path, layers } = layersOf(sources, schema.settings)
  const values: JsonObject = {}
  for (const { from, content } of layers) merge(values, structuredClone(content), from === 'flag')
  return freeze(checked(values, schema, path))
}

/** The configuration, and the origins of each setting. */
export interface ExplainedConfig {
  config: Config
  /** The configuration file, if there is one. */
  file: string | undefined
  /** The `.env` beside the configuration file; it may be missing. */
  env_file: string
  settings: { setting: Setting, value: unknown, origins: Origin[] }[]
}

/**
 * Loads the configuration with the origins of its values. A list to which flags add items has several origins.
 * @throws Error like `loadConfig`
 */
export function explainConfig (sources: ConfigSources, schema: ConfigSchema): ExplainedConfig {
  const config = loadConfig(sources, schema)
  const { path: file, env_file, layers } = layersOf(sources, schema.settings)
  return {
    config, file, env_file,
    settings: schema.settings.map(setting => {
      const origins = layers.filter(({ content }) => at(content, setting.path) !== undefined)
        .map(({ from }) => from)
        .toReversed()
      // Only flags add items to a list of another source.
      const counting =
        origins[0] === 'flag' && setting.schema.type === 'array' ? origins.slice(0, 2) : origins.slice(0, 1)
      return { setting, value: at(config, setting.path), origins: counting.length === 0 ? ['default'] : counting }
    })
  }
}

function at (values: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (inner: unknown, name) => isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined,
    values
  )
}

/**
 * The values of `plugins`, the list of further plugins. It is read before the whole configuration, because these
 * plugins declare sections too.
 * @throws Error with the file or variable and the fault
 */
export function furtherPlugins (sources: ConfigSources): string[] {
  const isList = ({ path }: Setting): boolean => path.join('.') === 'plugins'
  const { layers } = layersOf(sources, configSchema([]).settings.filter(isList))
  const values: JsonObject = {}
  for (const { from, content: { plugins } } of layers) {
    if (Array.isArray(plugins)) merge(values, { plugins }, from === 'flag')
  }
  const { plugins } = values
  return Array.isArray(plugins) ? plugins.filter(item => typeof item === 'string') : []
}

/**
 * Checks a whole configuration and fills in default values. For tests and for programs that embed the kernel.
 * @param schema by default that of the kernel alone
 * @throws Error with all faults
 */
export function completeConfig (values: JsonObject, schema = configSchema([])): Config {
  return freeze(checked(structuredClone(values), schema, undefined))
}

function checked (values: JsonObject, { schema, sections }: ConfigSchema, path: string | undefined): Config {
  if (checkGiven(schema, values) !== undefined) {
    const where = `configuration${path === undefined ? '' : ` ${path}`}`
    const faults = faultsIn(schema, values, '')
      .map(fault => `${where}: ${fault.replaceAll('/', '.')}`.replace(': body has', ' has'))
    throw new Error(faults.join('\n'))
  }
  const config = values as Config // the check above guarantees this type
  for (const section of sections) {
    const [table, name = ''] = section.name.split('.')
    const options = config.plugin[name]
    if (table === 'plugin' && options !== undefined) rememberChecked(options, section.schema)
  }
  if (config.execution.timeout_ms > config.execution.timeout_ms_max) {
    throw new Error('configuration: execution.timeout_ms must not be more than execution.timeout_ms_max')
  }
  return config
}

/** The first fault of each table of a configuration, so that one look finds most of them. */
function faultsIn (schema: TObject, values: JsonObject, name: string): string[] {
  const tables = Object.entries(schema.properties).flatMap(([key, property]) => {
    const table = values[key]
    return IsObject(property) && isObject(table) ? [[key, property, table] as const] : []
  })
  const own = {
    ...schema,
    default: undefined,
    properties: { ...schema.properties, ...Object.fromEntries(tables.map(([key]) => [key, {}])) }
  }
  const fault = compileCheck(own, name, { checked: true })(structuredClone(values))
  const inner = tables.flatMap(([key, property, table]) =>
    faultsIn(property, table, name === '' ? key : `${name}.${key}`))
  return [...(fault === undefined ? [] : [fault]), ...inner]
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
