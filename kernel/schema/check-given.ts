import { IsObject, Type, type TObject } from 'typebox'
import { isObject } from '../lib/json.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { compileCheck, type Check } from './validation.ts'

/**
 * Checks settings and fills in their defaults, as compiling the whole schema would; but where everything has a default,
 * only the part is compiled that something is given for. Compiling all of the configuration took a third of a command's
 * time.
 * @param root what messages call the value
 * @returns what is wrong, or undefined
 */
export function checkGiven (schema: TObject, values: JsonObject, root = ''): string | undefined {
  const part = hasDefaults(schema, values) ? partOf(schema, values) : undefined
  if (part === undefined || (Object.keys(part.properties).length > 0 && compileCheck(part, root, { checked: true })(values) !== undefined)) return checkWhole(schema, values, root)
  complete(schema, values)
  return undefined
}

const wholes = new WeakMap<TObject, Check>()

/** The same by the whole schema, which explains what is wrong. */
export function checkWhole (schema: TObject, values: JsonObject, root = ''): string | undefined {
  const check = wholes.get(schema) ?? compileCheck(schema, root, { checked: true })
  wholes.set(schema, check)
  return check(values)
}

/** Whether what is not given has a default. */
function hasDefaults (schema: TObject, values: JsonObject): boolean {
  return Object.entries(schema.properties).every(([name, property]) => {
    if (!Object.hasOwn(values, name) && !('default' in property)) return false
    const inner = values[name] ?? {}
    return !IsObject(property) || !isObject(inner) || hasDefaults(property, inner)
  })
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
    if (!Object.hasOwn(values, name) && 'default' in property) values[name] = structuredClone(property.default)
    const inner = values[name]
    if (IsObject(property) && isObject(inner)) complete(property, inner)
  }
}
