import { IsObject, Type, type TObject } from 'typebox'
import { Config } from './config.ts'
import { isObject } from './json.ts'
import type { JsonObject } from './schemas.ts'
import { compileCheck, type Check } from './validation.ts'

/**
 * Checks a configuration and fills in its defaults, as compiling the whole schema would: but only the part is compiled that
 * something is given for. All of it took a third of a command's time.
 * @returns what is wrong, or undefined
 */
export function checkConfig (values: JsonObject): string | undefined {
  const part = partOf(Config, values)
  if (part === undefined || (Object.keys(part.properties).length > 0 && compileCheck(part, '', { checked: true })(values) !== undefined)) return checkWhole(values)
  complete(Config, values)
  return undefined
}

let whole: Check | undefined

/** The same by the whole schema, which explains what is wrong. */
export function checkWhole (values: JsonObject): string | undefined {
  whole ??= compileCheck(Config, '', { checked: true })
  return whole(values)
}

/** The schema of the fields that are given; undefined when one is unknown. */
function partOf (schema: TObject, values: JsonObject): TObject | undefined {
  const parts: TObject['properties'] = {}
  for (const [name, value] of Object.entries(values)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (property === undefined) return undefined
    const part = IsObject(property) && isObject(value) ? partOf(property, value) : property
    if (part === undefined) return undefined
    parts[name] = part
  }
  return Type.Object(parts)
}

function complete (schema: TObject, values: JsonObject): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(values, name)) values[name] = 'default' in property ? structuredClone(property.default) : {}
    const inner = values[name]
    if (IsObject(property) && isObject(inner)) complete(property, inner)
  }
}
