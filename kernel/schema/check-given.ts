import { IsObject, Type, type TObject } from 'typebox'
import { isObject } from '../lib/json.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { compileCheck, type Check } from './validation.ts'

/**
 * Checks settings and fills in their default values, with the same result as the compiled whole schema. When all
 * missing settings have default values, only the part of the schema for the given settings is compiled, because the
 * compilation of the whole configuration took a third of a command's time.
 * @param root the name of the value in error messages
 * @returns the error message, or undefined
 */
export function checkGiven (schema: TObject, values: JsonObject, root = ''): string | undefined {
  const part = hasDefaults(schema, values) ? partOf(schema, values) : undefined
  if (
    part === undefined
    || (Object.keys(part.properties).length > 0 && compileCheck(part, root, { checked: true })(values) !== undefined)
  ) {
    return checkWhole(schema, values, root)
  }
  complete(schema, values)
  return undefined
}

const wholes = new WeakMap<TObject, Check>()

/** Like `checkGiven`, but compiles the whole schema, whose error message explains the fault. */
export function checkWhole (schema: TObject, values: JsonObject, root = ''): string | undefined {
  const check = wholes.get(schema) ?? compileCheck(schema, root, { checked: true })
  wholes.set(schema, check)
  return check(values)
}

/** Whether all missing settings have default values. */
function hasDefaults (schema: TObject, values: JsonObject): boolean {
  return Object.entries(schema.properties).every(([name, property]) => {
    if (!Object.hasOwn(values, name) && !('default' in property)) return false
    const inner = values[name] ?? {}
    return !IsObject(property) || !isObject(inner) || hasDefaults(property, inner)
  })
}

/** The schema of the given fields only; undefined when a field is unknown. */
function partOf (schema: TObject, values: JsonObject): TObject | undefined {
  const parts: TObject['properties'] = {}
  for (const [name, value] of Object.entries(values)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : freeKeys(schema)
    if (property === undefined) return undefined
    const part = IsObject(property) && isObject(value) ? partOf(property, value) : property
    if (part === undefined) return undefined
    parts[name] = part
  }
  return Type.Object(parts)
}

/** The schema of the fields that `properties` does not name; undefined when there can be none. */
function freeKeys (schema: TObject): TObject['properties'][string] | undefined {
  const keywords: { additionalProperties?: unknown } & TObject = schema
  return isObject(keywords.additionalProperties) ? keywords.additionalProperties : undefined
}

function complete (schema: TObject, values: JsonObject): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(values, name) && 'default' in property) values[name] = structuredClone(property.default)
    const inner = values[name]
    if (IsObject(property) && isObject(inner)) complete(property, inner)
  }
}
