import { isObject } from '../../kernel/index.ts'
import type { TargetParameter } from '../toolkit/openapi/target.ts'

type Written = Pick<TargetParameter, 'name' | 'style' | 'explode' | 'json' | 'reserved'>

/** A value as a text within a request. */
export function textOf (value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/** The value of a path parameter, by its style. Whatever it holds, it stays within its part of the path. */
export function inPath (value: unknown, { name, style, explode, json }: Written): string {
  const encode = (inner: unknown): string => encodeURIComponent(textOf(inner))
  if (json === true) return encode(JSON.stringify(value))
  const [begin, between] = style === 'label' ? ['.', explode ? '.' : ',']
    : style === 'matrix' ? [';', explode ? ';' : ','] : ['', ',']
  const named = (key: string, text: string): string => style === 'matrix' ? `${encode(key)}=${text}` : text
  if (Array.isArray(value)) {
    const items = value.map(encode)
    if (explode) return begin + items.map(item => named(name, item)).join(between)
    return begin + named(name, items.join(','))
  }
  if (isObject(value)) {
    const fields = Object.entries(value)
    if (explode) return begin + fields.map(([key, inner]) => `${encode(key)}=${encode(inner)}`).join(between)
    return begin + named(name, fields.flatMap(([key, inner]) => [encode(key), encode(inner)]).join(','))
  }
  return begin + named(name, encode(value))
}

/** The value of a header, by the style `simple`; not encoded. */
export function inHeader (value: unknown, { explode, json }: Written): string {
  if (json === true) return JSON.stringify(value)
  if (Array.isArray(value)) return value.map(textOf).join(',')
  if (!isObject(value)) return textOf(value)
  return Object.entries(value).flatMap(([key, inner]) => explode ? [`${key}=${textOf(inner)}`] : [key, textOf(inner)])
    .join(',')
}

/** A name with its value, which may have parts with something between them. */
export interface Pair { name: string, parts: string[], between: string }

/** The pairs that a value becomes in a query, a form or cookies; not encoded. */
export function pairsOf (value: unknown, { name, style, explode, json }: Written): Pair[] {
  const one = (key: string, inner: unknown): Pair =>
    ({ name: key, parts: [textOf(inner)], between: '' })
  if (json === true) return [{ name, parts: [JSON.stringify(value)], between: '' }]
  const between = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ','
  if (Array.isArray(value)) {
    if (explode) return value.map(item => one(name, item))
    return value.length === 0 ? [] : [{ name, parts: value.map(textOf), between }]
  }
  if (!isObject(value)) return [one(name, value)]
  if (style === 'deepObject') return deepPairs(name, value)
  const fields = Object.entries(value)
  if (explode) return fields.map(([key, inner]) => one(key, inner))
  return fields.length === 0 ? [] : [{ name, parts: fields.flatMap(([key, inner]) => [key, textOf(inner)]), between }]
}

/** `filter[a][b]=1`: how servers read objects in objects, and lists as the same name several times. */
function deepPairs (name: string, value: unknown): Pair[] {
  if (Array.isArray(value)) return value.flatMap(item => deepPairs(`${name}[]`, item))
  if (isObject(value)) return Object.entries(value).flatMap(([key, inner]) => deepPairs(`${name}[${key}]`, inner))
  return [{ name, parts: [textOf(value)], between: '' }]
}

/** A query, from values and how they are written. */
export function queryOf (values: readonly { value: unknown, how: Written }[]): string {
  return values.flatMap(({ value, how }) => pairsOf(value, how).map(({ name, parts, between }) => {
    // A comma between values differs from one within them, which is encoded.
    const joined = parts.map(part => encodeQuery(part, how.reserved === true))
      .join(between === ',' ? ',' : encodeURIComponent(between))
    return `${encodeURIComponent(name)}=${joined}`
  })).join('&')
}

function encodeQuery (text: string, reserved: boolean): string {
  const encoded = encodeURIComponent(text)
  // Without & and #, which would begin something else, and + and =, which servers read in several ways.
  return reserved
    ? encoded.replaceAll(/%(3A|2F|3F|5B|5D|40|24|2C|3B)/g, part => decodeURIComponent(part))
    : encoded
}
