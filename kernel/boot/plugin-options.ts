import { checkGiven } from '../schema/check-given.ts'
import type { AnyPlugin } from '../contracts/plugin.ts'
import type { JsonObject } from '../contracts/schemas.ts'

/**
 * Checks the options of a plugin and fills in their default values.
 * @param given the values of the section `[plugin.NAME]`; they are not changed
 * @throws Error with the fault; the message begins with `plugin.NAME`
 */
export function pluginOptions ({ name, options: schema }: Pick<AnyPlugin, 'name' | 'options'>, given: JsonObject): JsonObject {
  const options = structuredClone(given)
  if (schema === undefined) {
    if (Object.keys(options).length > 0) throw new Error(`plugin.${name} has settings, but the plugin takes none`)
    return options
  }
  const wrong = checkGiven(schema, options, `plugin.${name}`)
  if (wrong !== undefined) throw new Error(wrong)
  return options
}
