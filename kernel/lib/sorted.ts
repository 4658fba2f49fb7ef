import { isObject } from './json.ts'

/** A value with the keys of its objects in order, so that equal values have equal texts as JSON. */
export function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)
  return { object: entries.map(([key, inner]) => [key, sorted(inner)]) }
}
