import { Config } from '../contracts/config.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { isObject } from '../lib/json.ts'
import { checkGiven } from '../schema/check-given.ts'
import type { ConfigSources } from './config-files.ts'
import { layersOf, type Origin } from './config-layers.ts'
import { settings, type Setting } from './settings.ts'

/**
 * The configuration: flag, then variable, then `.env` beside the file, then file, then default. Frozen. Relative paths
 * of the file and of `.env` are read from their folder, those of flags and variables from `cwd`.
 * @throws Error naming the file or variable, the key, and the nearest known one
 */
export function loadConfig (sources: ConfigSources): Config {
  const { path, layers } = layersOf(sources)
  const values: JsonObject = {}
  for (const { from, given } of layers) merge(values, structuredClone(given), from === 'flag')
  return freeze(checked(values, path))
}

/** The configuration, and where each setting of it comes from. */
export interface ExplainedConfig {
  config: Config
  /** The configuration file, if there is one. */
  file: string | undefined
  /** The `.env` beside it, which need not exist. */
  env_file: string
  settings: { setting: Setting, value: unknown, origins: Origin[] }[]
}

/**
 * The configuration with the origins of its values; a list that flags add to has several.
 * @throws Error as `loadConfig`
 */
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
