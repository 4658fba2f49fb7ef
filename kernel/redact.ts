import { splitTruncationNote } from './output.ts'
import type { JsonObject } from './schemas.ts'

/** What a secret is replaced by wherever it would be kept or sent. */
export const secretMark = '[secret]'

/**
 * The shortest value, in characters, that is looked for in free text: shorter ones occur there by chance. Also the
 * shortest piece of a longer one that is looked for where a text was cut.
 */
export const secretLengthMin = 4
/** A line of a secret of several lines, and what of base64 does not depend on what stands around it, are looked for from this length on. */
const partLengthMin = 8

/** Which ends of a text may have been cut, so that a piece of a secret stands there. */
export type Cut = 'start' | 'end' | 'both' | 'none'

/** Replaces secrets. Time and memory are linear in the length of the text, whatever text and secrets are. */
export interface Redactor {
  text (text: string, cut?: Cut): string
  /** An output, which a note ends where it was truncated. */
  output (text: string, truncated: boolean): string
  /** The message and the details of a failure: `stderr` in them is the end of a stream, and messages quote it. */
  failure (message: string, details: JsonObject): { message: string, details: JsonObject }
  /** All strings of plain data, and its keys. */
  data (value: JsonObject): JsonObject
}

/** A redactor for these values; undefined when there is none to look for, so that it costs nothing. */
export function createRedactor (values: readonly unknown[]): Redactor | undefined {
  const needles = [...new Set(values.flatMap(leaves).flatMap(spellings))].sort((a, b) => b.length - a.length)
  return needles.length === 0 ? undefined : redactorOf(needles)
}

function redactorOf (needles: readonly string[]): Redactor {
  const text = (text: string, cut: Cut = 'none'): string => replace(text, needles, cut)
  const bounded = (message: string): string => message.endsWith('…') ? `${text(message.slice(0, -1), 'end')}…` : text(message)
  const walk = (value: unknown, key?: string): unknown => {
    if (typeof value === 'string') return key === 'stderr' ? text(value, 'start') : bounded(value)
    if (Array.isArray(value)) return value.map(item => walk(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), walk(inner, key)]))
  }
  const data = (value: JsonObject): JsonObject => walk(value) as JsonObject // an object stays one
  return {
    text: (value, cut) => cut === undefined ? bounded(value) : text(value, cut),
    output (value, truncated) {
      if (!truncated) return text(value)
      const { kept, note } = splitTruncationNote(value)
      return text(kept, 'end') + note
    },
    failure (message, details) {
      const { stderr } = details
      // The piece at the start of what was kept may be quoted in the middle of the message.
      const piece = typeof stderr === 'string' ? stderr.slice(0, pieceAtStart(stderr, needles)) : ''
      return { message: bounded(piece === '' ? message : message.replaceAll(piece, secretMark)), details: data(details) }
    },
    data
  }
}

/** The strings and numbers in a value, and the value as JSON. Booleans and null can be no secret. */
function leaves (value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  const within = Object.entries(value).flatMap(([key, inner]) => [...(Array.isArray(value) ? [] : [key]), ...leaves(inner)])
  return [...within, JSON.stringify(value)]
}

/** How a secret may be written: as it is, in JSON, in a URL, in base64, and line by line. */
function spellings (given: string): string[] {
  if (given.length < secretLengthMin) return []
  const value = given.toWellFormed()
  const json = JSON.stringify(given).slice(1, -1)
  const url = encodeURIComponent(value)
  const strict = url.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  const urls = [url, strict, url.replaceAll('%20', '+'), strict.replaceAll('%20', '+')]
  const bytes = Buffer.from(value)
  return [
    given,
    value,
    given.replaceAll(/\p{Cc}+/gu, ' ').trim(), // as messages quote it
    json,
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[^\x20-\x7e]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
    JSON.stringify(json).slice(1, -1),
    ...urls,
    ...urls.map(url => url.replaceAll(/%[0-9A-F]{2}/g, code => code.toLowerCase())),
    ...base64s(bytes),
    ...(/[\r\n]/.test(given) ? given.split(/[\r\n]+/).map(line => line.trim()).filter(line => line.length >= partLengthMin) : [])
  ].filter(spelling => spelling.length >= secretLengthMin)
}

/** Base64 by itself, and as a part of something longer, such as `user:secret`: the bytes before it shift its groups. */
function base64s (bytes: Buffer): string[] {
  const whole = [bytes.toString('base64'), bytes.toString('base64').replaceAll('=', '')]
  const within = [0, 1, 2].map(shift => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    // Characters that hold bits of a neighbour are left out, at both ends.
    return shifted.toString('base64').slice(Math.ceil(shift * 8 / 6), Math.floor(shifted.length * 8 / 6))
  }).filter(part => part.length >= partLengthMin)
  return [...whole, ...within].flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}

/** From here to there, in characters. */
type Span = [from: number, to: number]

function replace (text: string, needles: readonly string[], cut: Cut): string {
  const spans: Span[] = needles.flatMap(needle => occurrences(text, needle))
  if (cut === 'start' || cut === 'both') {
    const end = pieceAtStart(text, needles)
    if (end > 0) spans.push([0, end])
  }
  if (cut === 'end' || cut === 'both') {
    const length = Math.max(0, ...needles.map(needle => overlap(needle, text)))
    if (length >= secretLengthMin) spans.push([text.length - length, text.length])
  }
  if (spans.length === 0) return text
  spans.sort((a, b) => a[0] - b[0])
  let redacted = ''
  let at = 0
  for (let i = 0; i < spans.length;) {
    const [from] = spans[i] ?? [0]
    let to = from
    // What overlaps is one secret: the rest of the second would tell of it.
    for (; i < spans.length; i++) {
      const [nextFrom, nextTo] = spans[i] ?? [0, 0]
      if (nextFrom > to || (nextFrom === to && to > from)) break
      to = Math.max(to, nextTo)
    }
    redacted += text.slice(at, from) + secretMark
    at = to
  }
  return redacted + text.slice(at)
}

/** How many characters at the start of a text are the end of a secret. */
function pieceAtStart (text: string, needles: readonly string[]): number {
  const length = Math.max(0, ...needles.map(needle => {
    const start = text.slice(0, needle.length - 1)
    return start.includes(needle.slice(-secretLengthMin)) ? overlap(reverse(needle), reverse(start)) : 0
  }))
  return length >= secretLengthMin ? length : 0
}

/** Characters of a needle that `indexOf` looks for before every character is looked at. */
const probeLength = 16

/** Where a needle stands in a text. After Knuth, Morris and Pratt: the system's own search takes the square of the length for some texts. */
function occurrences (text: string, needle: string): Span[] {
  const spans: Span[] = []
  const first = text.indexOf(needle.slice(0, probeLength))
  if (first === -1) return spans
  const borders = bordersOf(needle)
  let matched = 0
  for (let i = first; i < text.length; i++) {
    while (matched > 0 && text.charCodeAt(i) !== needle.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (text.charCodeAt(i) === needle.charCodeAt(matched)) matched++
    if (matched < needle.length) continue
    const from = i + 1 - needle.length
    const last = spans.at(-1)
    if (last !== undefined && last[1] > from) last[1] = i + 1
    else spans.push([from, i + 1])
    matched = borders[matched - 1] ?? 0
  }
  return spans
}

/** The length of the longest beginning of a needle, short of the whole, that ends a text; 0 where that is too short to count. */
function overlap (needle: string, text: string): number {
  const end = text.slice(-(needle.length - 1))
  const first = end.indexOf(needle.slice(0, secretLengthMin))
  if (first === -1) return 0
  const borders = bordersOf(needle)
  let matched = 0
  for (let i = first; i < end.length; i++) {
    while (matched > 0 && end.charCodeAt(i) !== needle.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (end.charCodeAt(i) === needle.charCodeAt(matched)) matched++
  }
  return matched
}

/** For each beginning of a needle, how long its longest border is: a shorter beginning that also ends it. */
function bordersOf (needle: string): Uint32Array {
  const borders = new Uint32Array(needle.length)
  for (let i = 1, matched = 0; i < needle.length; i++) {
    while (matched > 0 && needle.charCodeAt(i) !== needle.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (needle.charCodeAt(i) === needle.charCodeAt(matched)) matched++
    borders[i] = matched
  }
  return borders
}

/** By code units: both sides are reversed alike. */
function reverse (text: string): string {
  let reversed = ''
  for (let i = text.length - 1; i >= 0; i--) reversed += text.charAt(i)
  return reversed
}
