import { Config } from '../contracts/config.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { isObject } from '../lib/json.ts'
import { checkGiven } from '../schema/check-given.ts'
import type { ConfigSources } from './config-files.ts'
import { layersOf, type Origin } from './config-layers.ts'
import { settings, type Setting } from './settings.ts'

/**
 * Loads the configuration and freezes it. The priority of the sources, from the highest: flag, variable, `.env` beside
 * the file, file, default value. Relative paths in the file and in `.env` are relative to their folder; relative paths
 * in flags and variables are relative to `cwd`.
 * @throws Error with the file or variable, the key, and the nearest known key
 */
export function loadConfig (sources: ConfigSources): Config {
  const { path, layers } = layersOf(sources)
  const values: JsonObject = {}
  for (const { from, given } of layers) merge(values, structuredClone(given), from === 'flag')
  return freeze(checked(values, path))
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
export function explainConfig (sources: ConfigSources): ExplainedConfig {
  const config = loadConfig(sources)
  const { path: file, env_file, layers } = layersOf(sources)
  return {
    config, file, env_file,
    settings: settings.map(setting => {
      const origins = layers.filter(({ given }) => at(given, setting.path) !== undefined).map(({ from }) => from).toReversed()
      // Only flags add items to a list of another source.
      const counting = origins[0] === 'flag' && setting.schema.type === 'array' ? origins.slice(0, 2) : origins.slice(0, 1)
      return { setting, value: at(config, setting.path), origins: counting.length === 0 ? ['default'] : counting }
    })
  }
}

function at (values: unknown, path: readonly string[]): unknown {
  return path.reduce((inner: unknown, name) => isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined, values)
}

/** Checks a whole configuration and fills in default values. For tests and for programs that embed the kernel. */
export function completeConfig (values: JsonObject): Config {
  return freeze(checked(structuredClone(values), undefined))
}

function checked (values: JsonObject, path: string | undefined): Config {
  const wrong = checkGiven(Config, values)
  if (wrong !== undefined) throw new Error(`configuration${path === undefined ? '' : ` ${path}`}: ${wrong.replaceAll('/', '.').replace(/^body /, '')}`)
  const config = values as Config // the check above guarantees this type
  if (config.execution.timeout_ms > config.execution.timeout_ms_max) {
    throw new Error('configuration: execution.timeout_ms must not be more than execution.timeout_ms_max')
  }
  return config
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
