import { needleMin } from './needle-beginnings.ts'
import { Needles, type Cut } from './needles.ts'
import { splitTruncationNote } from '../contracts/output.ts'
import { atOnce, inTurns, type Steps } from '../lib/pauses.ts'
import type { JsonObject } from '../contracts/schemas.ts'

/** What a secret is replaced by wherever it would be kept or sent. */
export const secretMark = '[secret]'

/**
 * The shortest value, in characters, that is looked for in free text: shorter ones occur there by chance. Also the
 * shortest piece of a longer one that is looked for where a text was cut.
 */
export const secretLengthMin = needleMin
/**
 * A line of a secret of several lines, and what of base64 does not depend on what stands around it, are looked for from
 * this length on.
 */
const partLengthMin = 8

/** Replaces secrets. Time and memory are linear in the length of the text, whatever text and secrets are. */
export interface Redactor {
  text (text: string, cut?: Cut): string
  /** An output, which a note ends where it was truncated. It may be long: the event loop turns meanwhile. */
  output (text: string, truncated: boolean): Promise<string>
  /** The message and the details of a failure: `stderr` in them is the end of a stream, and messages quote it. */
  failure (message: string, details: JsonObject): { message: string, details: JsonObject }
  /** All strings of plain data, and its keys. */
  data (value: JsonObject): JsonObject
}

/** A redactor for these values; undefined when there is none to look for, so that it costs nothing. */
export function createRedactor (values: readonly unknown[]): Redactor | undefined {
  const needles = new Set(values.flatMap(leaves).flatMap(spellings))
  return needles.size === 0 ? undefined : redactorOf(new Needles([...needles]))
}

function redactorOf (needles: Needles): Redactor {
  const text = (text: string, cut: Cut = 'none'): string => atOnce(redacted(text, needles, cut))
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
    async output (value, truncated) {
      if (!truncated) return await inTurns(redacted(value, needles, 'none'))
      const { kept, note } = splitTruncationNote(value)
      return await inTurns(redacted(kept, needles, 'end')) + note
    },
    failure (message, details) {
      const { stderr } = details
      // The piece at the start of what was kept may be quoted in the middle of the message.
      const piece = typeof stderr === 'string' ? stderr.slice(0, needles.pieceAtStart(stderr)) : ''
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

/** How many spans are replaced in one step. */
const stepSpans = 4_096

/** A text with each needle in it, and each piece of one at its cut ends, replaced by the mark. */
function * redacted (text: string, needles: Needles, cut: Cut): Steps<string> {
  const spans = yield* needles.find(text, cut)
  if (spans.length === 0) return text
  const parts: string[] = []
  let part = ''
  let at = 0
  for (let i = 0; i < spans.length; i += 2) {
    part += text.slice(at, spans[i]) + secretMark
    at = spans[i + 1] ?? at
    if (i % stepSpans !== 0) continue
    parts.push(part)
    part = ''
    yield
  }
  parts.push(part, text.slice(at))
  return parts.join('')
}
