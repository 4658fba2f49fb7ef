import { isObject, type JsonObject } from '../../../kernel/index.ts'
import { brief } from '../text/names.ts'

/** The most entries of a table, and the most characters of a value. */
export const limits = { entries: 1_000, characters: 65_536 } as const

/** A value of the wrong type, which its entry can't do without. */
export class WrongType extends Error {}

/** A scalar as text; a number or a boolean with a note. */
export function castText (value: unknown, path: string, notes: string[]): string {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') {
    notes.push(`value-cast: ${path}`)
    return String(value)
  }
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'string') throw new WrongType(`${path} must be a text`)
  if (value.length > limits.characters) throw new WrongType(`${path} has more than ${limits.characters} characters`)
  return value
}

/** A text, where there is one. */
export function optionalText (table: JsonObject, key: string, path: string, notes: string[]): string | undefined {
  return table[key] === undefined ? undefined : castText(table[key], `${path}${key}`, notes)
}

/** A boolean, where there is one; `"true"` and `"false"` too. */
export function optionalFlag (table: JsonObject, key: string, path: string, notes: string[]): boolean | undefined {
  const value = table[key]
  if (value === undefined || typeof value === 'boolean') return value
  if (value !== 'true' && value !== 'false') throw new WrongType(`${path}${key} must be true or false`)
  notes.push(`value-cast: ${path}${key}`)
  return value === 'true'
}

/** A list of texts; empty where there is none. A single text is a list of one. */
export function textListOf (table: JsonObject, key: string, path: string, notes: string[]): string[] {
  const value = table[key]
  if (value === undefined) return []
  const items: unknown[] = Array.isArray(value) ? value : [value]
  if (!Array.isArray(value)) notes.push(`value-cast: ${path}${key}`)
  if (items.length > limits.entries) throw new WrongType(`${path}${key} has more than ${limits.entries} entries`)
  return items.map((item, i) => castText(item, `${path}${key}[${i}]`, notes))
}

/** A table; empty where there is none. */
export function tableOf (table: JsonObject, key: string, path: string): JsonObject {
  const value = table[key]
  if (value === undefined) return {}
  if (!isObject(value)) throw new WrongType(`${path}${key} must be a table`)
  if (Object.keys(value).length > limits.entries) {
    throw new WrongType(`${path}${key} has more than ${limits.entries} entries`)
  }
  return value
}

/** A table of texts. */
export function textsOf (table: JsonObject, key: string, path: string, notes: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(tableOf(table, key, path))
    .map(([name, value]) => [name, castText(value, `${path}${key}.${name}`, notes)]))
}

/** Notes the keys that nobody reads. */
export function noteUnknown (table: JsonObject, known: readonly string[], path: string, notes: string[]): void {
  for (const key of Object.keys(table)) if (!known.includes(key)) notes.push(`key-unknown: ${path}${brief(key, 80)}`)
}
