import { checkGiven } from '../schema/check-given.ts'
import type { AnyPlugin } from '../contracts/plugin.ts'
import type { JsonObject } from '../contracts/schemas.ts'

/** Options that were checked with the whole configuration, and the schema that they fit. */
const checkedOptions = new WeakMap<object, object>()

/** Remembers options that a check of the whole configuration found valid and complete. */
export function rememberChecked (options: object, schema: object): void {
  checkedOptions.set(options, schema)
}

/**
 * Checks the options of a plugin and fills in their default values. Options of a configuration that was loaded with the
 * plugin's sections were checked there, and are not checked again.
 * @param values the values of the section `[plugin.NAME]`; they are not changed
 * @throws Error with the fault; the message begins with `plugin.NAME`
 */
export function pluginOptions (
  { name, options: schema }: Pick<AnyPlugin, 'name' | 'options'>,
  values: JsonObject
): JsonObject {
  if (schema !== undefined && checkedOptions.get(values) === schema) return values
  const options = structuredClone(values)
  if (schema === undefined) {
    if (Object.keys(options).length > 0) throw new Error(`plugin.${name} has settings, but the plugin takes none`)
    return options
  }
  const fault = checkGiven(schema, options, `plugin.${name}`)
  if (fault !== undefined) throw new Error(fault)
  return options
}
