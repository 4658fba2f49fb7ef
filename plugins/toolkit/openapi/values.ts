import { isObject, type JsonObject } from '../../../kernel/index.ts'

/** What a document says at a place, as an object; an empty one where there is something else. */
export function objectAt (value: JsonObject, key: string): JsonObject {
  const inner = own(value, key)
  return isObject(inner) ? inner : {}
}

/** As `objectAt`, for a list. */
export function listAt (value: JsonObject, key: string): unknown[] {
  const inner = own(value, key)
  return Array.isArray(inner) ? inner : []
}

/** As `objectAt`, for a text; undefined where there is something else. */
export function textAt (value: JsonObject, key: string): string | undefined {
  const inner = own(value, key)
  return typeof inner === 'string' ? inner : undefined
}

/** A field of an object itself: a document may ask for `constructor`. */
export function own (value: JsonObject, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

/** The beginning of a text, with an ellipsis where it goes on. */
export function short (text: string, max: number): string {
  const trimmed = text.trim()
  return trimmed.length > max ? `${trimmed.slice(0, max - 1).trimEnd()}…` : trimmed
}
