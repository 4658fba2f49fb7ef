import fastJsonStringify, { type Schema } from 'fast-json-stringify'
import type { TObject } from 'typebox'
import { isObject, type ErrorEnvelope, type JsonObject, type Version } from '../../../kernel/index.ts'

/** What the root of every JSON response under /api carries beside its own fields; both are the service's version. */
export function versionFields ({ version }: Version): { api_version: string, service_version: string } {
  return { api_version: version, service_version: version }
}

/** Makes the body of a reply. */
export type Serializer = (output: object) => string | Uint8Array

/**
 * Compiles the serializer of an output schema; it adds the version fields. What is frozen will not change, and is
 * serialized once, however often it is the answer, and kept as bytes, which an engine sends as they are.
 */
export function compileSerializer (output: TObject, version: Version): Serializer {
  const plain = plainSchema(output)
  const properties = isObject(plain['properties']) ? plain['properties'] : {}
  for (const [name, text] of Object.entries(versionFields(version))) properties[name] = { type: 'string', default: text }
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
 * A schema with only what a serializer needs. Left out are formats, bounds and enums: values that come out were checked
 * when they came in, and a serializer that meets them slows down or alters what it does not know. Open objects become
 * "anything", so that all their fields survive, and `X | null` a nullable X, which needs no validation to tell apart.
 */
function plainSchema (schema: unknown): JsonObject {
  if (!isObject(schema)) return {}
  const { type, properties, required, items, additionalProperties, anyOf } = schema
  if (Array.isArray(anyOf)) {
    const others = anyOf.filter(one => !(isObject(one) && one['type'] === 'null'))
    const inner = plainSchema(others[0])
    return others.length === 1 && inner['type'] !== undefined ? { ...inner, nullable: others.length < anyOf.length } : {}
  }
  switch (type) {
    case 'object':
      if (additionalProperties !== undefined && additionalProperties !== false) return {}
      return {
        type,
        properties: isObject(properties) ? Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, plainSchema(one)])) : {},
        ...(Array.isArray(required) && { required })
      }
    case 'array': return { type, items: plainSchema(items) }
    case 'string': case 'integer': case 'number': case 'boolean': return { type }
    default: return {}
  }
}
