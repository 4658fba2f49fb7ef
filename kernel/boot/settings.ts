import { IsObject, type TObject } from 'typebox'
import { Config } from '../contracts/config.ts'

/** A setting with a single value or a list: its path in the configuration, and the names of its flag and variable. */
export interface Setting {
  /** For example `['server', 'port']`. */
  path: readonly string[]
  /** For example `--server-port`. */
  flag: string
  /** For example `SKILLET_SERVER_PORT`. */
  variable: string
  /** The schema of the value. */
  schema: { type?: unknown, description?: unknown, default?: unknown, items?: unknown }
}

/** All settings that a flag or a variable can set, derived from the schema. */
export const settings: readonly Setting[] = settingsOf(Config, [])

function settingsOf (schema: TObject, path: readonly string[]): Setting[] {
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const at = [...path, name]
    if (IsObject(property)) return settingsOf(property, at)
    if ('additionalProperties' in property) return [] // a table with free keys can only be set in the file
    const words = at.join('_')
    return [{ path: at, flag: `--${words.replaceAll('_', '-')}`, variable: `SKILLET_${words.toUpperCase()}`, schema: property }]
  })
}
