import { VARIABLE_NAME, type JsonObject } from '../../../kernel/index.ts'
import { interpolate, UnsetVariable } from './interpolate.ts'
import {
  noteUnknown, optionalFlag, optionalText, tableOf, textListOf, textsOf, WrongType
} from './values.ts'

/** What an instance may do. */
export interface Capabilities { network_access: boolean, allowed_paths: string[], max_concurrent_requests: number }

/** The settings of an instance, with its variables filled in. */
export interface Instance {
  config: Record<string, string>
  env: Record<string, string>
  capabilities: Capabilities
  /** Whether something says that it may, or may not, reach the network. */
  network_said: boolean
  /** Keys of `config` whose value is secret; without a value where it is to be found elsewhere. */
  secrets: string[]
  description?: string
}

/** An instance that can't be used, and why. */
export interface UnusableInstance { unusable: string }

/** The instance of a skill that has no settings. */
export const plainInstance: Instance = {
  config: {}, env: {}, secrets: [], network_said: false,
  capabilities: { network_access: false, allowed_paths: [], max_concurrent_requests: 10 }
}

/** What `[defaults]` of a manifest, or a table of an instance, says before variables are filled in. */
interface Raw {
  config: Record<string, string>
  env: Record<string, string>
  network: boolean | undefined
  paths: string[]
  concurrency: number | undefined
  description: string | undefined
}

/** Reads a table of an instance, or `[defaults]`. @param path what stands before the keys in notes and errors */
export function readRaw (table: JsonObject, path: string, notes: string[]): Raw {
  noteUnknown(table, ['config', 'env', 'capabilities', 'description'], path, notes)
  const capabilities = tableOf(table, 'capabilities', path)
  const within = `${path}capabilities.`
  noteUnknown(capabilities, ['network_access', 'allowed_paths', 'max_concurrent_requests'], within, notes)
  const count = capabilities['max_concurrent_requests']
  if (count !== undefined && (!Number.isSafeInteger(count) || Number(count) < 0)) {
    throw new WrongType(`${within}max_concurrent_requests must be a whole number`)
  }
  return {
    // In notes, the settings of all instances have the same place.
    config: textsOf(table, 'config', '', notes),
    env: textsOf(table, 'env', '', notes),
    network: optionalFlag(capabilities, 'network_access', within, notes),
    paths: textListOf(capabilities, 'allowed_paths', within, notes),
    concurrency: count === undefined ? undefined : Number(count),
    description: optionalText(table, 'description', path, notes)
  }
}

/** An instance with the defaults of its manifest, and with its variables filled in. */
export function resolveInstance (
  raw: Raw, defaults: Raw, variables: NodeJS.ProcessEnv
): Instance | UnusableInstance {
  const filled = (values: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, interpolate(value, variables)]))
  try {
    const env = { ...filled(defaults.env), ...filled(raw.env) }
    const odd = Object.keys(env).find(name => !VARIABLE_NAME.test(name))
    if (odd !== undefined) return { unusable: `env.${odd} can't be the name of a variable` }
    return {
      config: filled(raw.config),
      env,
      secrets: [],
      network_said: raw.network !== undefined || defaults.network !== undefined,
      capabilities: {
        network_access: raw.network === true || defaults.network === true,
        allowed_paths: [...raw.paths, ...defaults.paths].map(path => interpolate(path, variables)),
        max_concurrent_requests: raw.concurrency ?? defaults.concurrency ?? 10
      },
      ...(raw.description !== undefined && { description: raw.description })
    }
  } catch (error) {
    if (error instanceof UnsetVariable) return { unusable: error.message }
    throw error
  }
}

/** The variable in which a skill finds a setting. @returns undefined where the key can't be the name of a variable */
export function variableOf (key: string): string | undefined {
  const name = `SKILL_${key.toUpperCase()}`
  return VARIABLE_NAME.test(name) ? name : undefined
}

/** Whether the name of a setting says that its value is secret. */
export function isSecretKey (key: string): boolean {
  return /secret|password|token|key|credential|auth/i.test(key)
}
