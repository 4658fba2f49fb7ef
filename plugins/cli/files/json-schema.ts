import { isObject, type JsonObject } from '../../../kernel/index.ts'

/** The title of the JSON Schema of skillet.toml. */
export const configTitle = 'Configuration of Skillet (skillet.toml)'

const draft = 'https://json-schema.org/draft/2020-12/schema'

/** The JSON Schema of a file, for editors: a field with a default value need not be written. */
export function fileSchema (title: string, schema: object): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(schema))
  return { $schema: draft, title, ...(isObject(copy) ? withoutDefaulted(copy) : {}) }
}

function withoutDefaulted (schema: JsonObject): JsonObject {
  const changed = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'default' || key === 'enum' ? value : inner(value)])
  )
  const { required, properties } = changed
  if (!Array.isArray(required) || !isObject(properties)) return changed
  const left = required.filter(name => {
    const property = properties[String(name)]
    return !isObject(property) || !('default' in property)
  })
  const { required: _, ...rest } = changed
  return left.length === 0 ? rest : { ...rest, required: left }
}

function inner (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inner)
  return isObject(value) ? withoutDefaulted(value) : value
}
