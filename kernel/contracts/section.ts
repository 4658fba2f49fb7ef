import { Type, type Static, type TObject } from 'typebox'
import { isObject } from '../lib/json.ts'

/**
 * A section of the configuration, or a part of one. Flags (`--server-port`), environment variables
 * (`SKILLET_SERVER_PORT`), the configuration file, its JSON Schema, `skillet config` and the documentation are derived
 * from the sections that the kernel and all plugins declare.
 */
export interface Section {
  /** The name of the table in the file, such as `server`. Several plugins can declare parts of the same section. */
  readonly name: string
  /** Types, default values, bounds and descriptions of the settings. */
  readonly schema: TObject
}

/** A section whose values can be read with their types. */
export interface SectionOf<T extends TObject> extends Section {
  readonly schema: T
  /**
   * The values of this section, with those of its other parts.
   * @param config the whole configuration
   * @throws Error when the configuration was loaded without this section
   */
  of (config: object): Static<T>
}

/** Declares a section, for `sections` of a plugin. Every setting needs a default value and a description. */
export function defineSection<P extends TObject['properties']> (
  name: string,
  description: string,
  properties: P
): SectionOf<TObject<P>> {
  const schema = Type.Object(properties, { description, default: {}, additionalProperties: false })
  return {
    name,
    schema,
    of (config) {
      const values = Object.entries(config).find(([key]) => key === name)?.[1]
      const isComplete = isObject(values) && Object.keys(schema.properties).every(key => Object.hasOwn(values, key))
      if (!isComplete) throw new Error(`the configuration was loaded without the section "${name}" of this plugin`)
      return values as Static<TObject<P>> // the configuration was checked with this schema
    }
  }
}

/**
 * The formats of settings that are paths. A relative path is resolved against the folder of its source, and `~/` is the
 * user's home directory. `directory`: always a path. `directory-or-name` and `file-or-name`: a path when it begins like
 * a path, otherwise a name, for example of a package.
 */
export const pathFormats = ['directory', 'directory-or-name', 'file-or-name'] as const
export type PathFormat = typeof pathFormats[number]

/** A setting that is a list of texts. */
export const textList = (description: string, format?: PathFormat) =>
  Type.Array(Type.String(format === undefined ? {} : { format }), { default: [], maxItems: 1000, description })
