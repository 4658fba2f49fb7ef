import fastJsonStringify, { type Schema } from 'fast-json-stringify'
import type { TObject } from 'typebox'
import { isObject, type ErrorEnvelope, type JsonObject, type Version } from '../../../kernel/index.ts'

/** The fields that every JSON response under /api has beside its own fields; both are the version of the service. */
export function versionFields ({ version }: Version): { api_version: string, service_version: string } {
  return { api_version: version, service_version: version }
}

/** Makes the body of a reply. */
export type Serializer = (output: object) => string | Uint8Array

/**
 * Compiles the serializer of an output schema; it adds the version fields. A frozen output can't change, so it is
 * serialized only once, and kept as bytes, which an engine sends without conversion.
 */
export function compileSerializer (output: TObject, version: Version): Serializer {
  const plain = plainSchema(output)
  const properties = isObject(plain['properties']) ? plain['properties'] : {}
  for (const [name, text] of Object.entries(versionFields(version))) {
    properties[name] = { type: 'string', default: text }
  }
  const schema: Schema = { ...plain, type: 'object', properties: properties as Record<string, Schema> }
  const serialize = fastJsonStringify(schema)
  const kept = new WeakMap<object, Uint8Array>()
  return output => {
    const body = kept.get(output)
    if (body !== undefined) return body
    const text = serialize(output)
    if (!Object.isFrozen(output)) return text
    const bytes = Buffer.from(text)
    kept.set(output, bytes)
    return bytes
  }
}

export function serializeError (envelope: ErrorEnvelope, version: Version): string {
  return JSON.stringify({ ...envelope, ...versionFields(version) })
}

/**
 * A schema with only the parts that a serializer needs. Formats, bounds and enums are left out: the values were checked
 * when they came in, and a serializer becomes slower or changes a value where it does not know a format. Open objects
 * become "anything", so that all their fields are kept. `X | null` becomes a nullable X, so that no validation is
 * needed to select the variant.
 */
function plainSchema (schema: unknown): JsonObject {
  if (!isObject(schema)) return {}
  const { type, properties, required, items, additionalProperties, anyOf } = schema
  if (Array.isArray(anyOf)) {
    const others = anyOf.filter(alternative => !(isObject(alternative) && alternative['type'] === 'null'))
    const inner = plainSchema(others[0])
    return others.length === 1 && inner['type'] !== undefined
      ? { ...inner, nullable: others.length < anyOf.length }
      : {}
  }
  switch (type) {
    case 'object':
      if (additionalProperties !== undefined && additionalProperties !== false) return {}
      return {
        type,
        properties: isObject(properties)
          ? Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, plainSchema(property)]))
          : {},
        ...(Array.isArray(required) && { required })
      }
    case 'array': return { type, items: plainSchema(items) }
    case 'string': case 'integer': case 'number': case 'boolean': return { type }
    default: return {}
  }
}
