import { IsArray, IsObject, Type, type TObject, type TObjectOptions } from 'typebox'
import { Config } from '../contracts/config.ts'
import type { AnyPlugin } from '../contracts/plugin.ts'
import type { Section } from '../contracts/section.ts'

/** A setting with a single value or a list: its path in the configuration, and the names of its flag and variable. */
export interface Setting {
  /** For example `['server', 'port']`. */
  path: readonly string[]
  /** For example `--server-port`. */
  flag: string
  /** For example `SKILLET_SERVER_PORT`. */
  variable: string
  /** The schema of the value. */
  schema: { type?: unknown, description?: unknown, default?: unknown, items?: unknown, format?: unknown }
}

/** The schema of a whole configuration, and all settings that a flag or a variable can set. */
export interface ConfigSchema {
  readonly sections: readonly Section[]
  readonly schema: TObject
  /** The options of plugins, `plugin.NAME.…`, are last. */
  readonly settings: readonly Setting[]
}

/** The sections that a plugin declares: its own, and `plugin.NAME` with its options. */
export function sectionsOf (
  { name, options, sections = [] }: Pick<AnyPlugin, 'name' | 'options' | 'sections'>
): Section[] {
  return [...sections, ...(options === undefined ? [] : [{ name: `plugin.${name}`, schema: options }])]
}

/**
 * The schema of the kernel's settings together with these sections.
 * @throws Error with the name of a setting that two plugins declare
 */
export function configSchema (sections: readonly Section[]): ConfigSchema {
  let schema: TObject = Config
  for (const { name, schema: section } of new Set(sections)) {
    schema = withSection(schema, name.split('.'), section, name)
  }
  const settings = settingsOf(schema, [])
  const isOption = ({ path }: Setting): boolean => path[0] === 'plugin'
  return {
    sections,
    schema,
    settings: [...settings.filter(setting => !isOption(setting)), ...settings.filter(isOption)]
  }
}

/** A copy of the schema in which the object at this path also has the properties of the section. */
function withSection (schema: TObject, [first, ...rest]: readonly string[], section: TObject, name: string): TObject {
  if (first === undefined) return merged(schema, section, name)
  const inner = schema.properties[first] ?? Type.Object({}, { ...annotationsOf(section), default: {} })
  if (!IsObject(inner)) throw new Error(`a plugin declares the section "${name}", but ${first} is a setting`)
  return replaced(schema, first, withSection(inner, rest, section, name))
}

function merged (schema: TObject, section: TObject, name: string): TObject {
  let both = schema
  for (const [key, property] of Object.entries(section.properties)) {
    const present = both.properties[key]
    if (present !== undefined && present !== property) {
      throw new Error(`two plugins declare the setting "${name}.${key}"`)
    }
    both = replaced(both, key, property)
  }
  return both
}

function replaced (schema: TObject, key: string, property: TObject['properties'][string]): TObject {
  return Type.Object({ ...schema.properties, [key]: property }, annotationsOf(schema))
}

/** The keywords of an object schema beside its properties. */
function annotationsOf (schema: TObject): TObjectOptions {
  return Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => keyword !== 'properties' && keyword !== 'required')
  )
}

function settingsOf (schema: TObject, path: readonly string[]): Setting[] {
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const at = [...path, name]
    if (IsObject(property)) return settingsOf(property, at)
    // A table with free keys, and a list of tables, can only be set in the file.
    if ('additionalProperties' in property || (IsArray(property) && IsObject(property.items))) return []
    const words = at.join('_').replaceAll(/[.-]/g, '_')
    return [{
      path: at, flag: `--${words.replaceAll('_', '-')}`, variable: `SKILLET_${words.toUpperCase()}`, schema: property
    }]
  })
}
