import { IsObject, type TObject } from 'typebox'
import { Config } from '../contracts/config.ts'

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
