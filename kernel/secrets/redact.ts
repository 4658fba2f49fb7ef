import { needleMin } from './needle-beginnings.ts'
import { Needles, type Cut } from './needles.ts'
import { splitTruncationNote } from '../contracts/output.ts'
import { atOnce, inTurns, type Steps } from '../lib/pauses.ts'
import type { JsonObject } from '../contracts/schemas.ts'

/** The text that replaces a secret in stored and sent data. */
export const secretMark = '[secret]'

/**
 * The minimum length, in characters, of a secret that is searched in free text: a shorter value occurs there by chance.
 * It is also the minimum length of a piece of a secret that is searched where a text was cut.
 */
export const secretLengthMin = needleMin
/**
 * The minimum length of a part of a secret that is searched: a line of a secret with several lines, or the part of its
 * base64 form that does not depend on the surrounding bytes.
 */
const partLengthMin = 8

/** Replaces secrets. Time and memory are linear in the length of the text, for every text and all secrets. */
export interface Redactor {
  text (text: string, cut?: Cut): string
  /**
   * Redacts an output, which ends with a note when it was truncated. An output may be long, so the event loop can
   * process other events in between.
   */
  output (text: string, truncated: boolean): Promise<string>
  /**
   * Redacts the message and the details of a failure. `stderr` in the details is the end of a stream, and messages may
   * quote it.
   */
  failure (message: string, details: JsonObject): { message: string, details: JsonObject }
  /** Redacts all strings and keys in plain data. */
  data (value: JsonObject): JsonObject
}

/** Makes a redactor for these values; undefined when there are no values to search, so that redaction costs nothing. */
export function createRedactor (values: readonly unknown[]): Redactor | undefined {
  const needles = new Set(values.flatMap(leaves).flatMap(spellings))
  return needles.size === 0 ? undefined : redactorOf(new Needles([...needles]))
}

function redactorOf (needles: Needles): Redactor {
  const text = (text: string, cut: Cut = 'none'): string => atOnce(redacted(text, needles, cut))
  const bounded = (message: string): string =>
    message.endsWith('…') ? `${text(message.slice(0, -1), 'end')}…` : text(message)
  const walk = (value: unknown, key?: string): unknown => {
    if (typeof value === 'string') return key === 'stderr' ? text(value, 'start') : bounded(value)
    if (Array.isArray(value)) return value.map(item => walk(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), walk(inner, key)]))
  }
  const data = (value: JsonObject): JsonObject => walk(value) as JsonObject // `walk` returns an object for an object
  return {
    text: (value, cut) => cut === undefined ? bounded(value) : text(value, cut),
    async output (value, truncated) {
      if (!truncated) return await inTurns(redacted(value, needles, 'none'))
      const { kept, note } = splitTruncationNote(value)
      return await inTurns(redacted(kept, needles, 'end')) + note
    },
    failure (message, details) {
      const { stderr } = details
      // The message may quote, in its middle, the piece of a secret at the start of the stored `stderr`.
      const piece = typeof stderr === 'string' ? stderr.slice(0, needles.pieceAtStart(stderr)) : ''
      return {
        message: bounded(piece === '' ? message : message.replaceAll(piece, secretMark)),
        details: data(details)
      }
    },
    data
  }
}

/** The strings and numbers in a value, and the value as JSON. Booleans and null can't be secrets. */
function leaves (value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  const within = Object.entries(value)
    .flatMap(([key, inner]) => [...(Array.isArray(value) ? [] : [key]), ...leaves(inner)])
  return [...within, JSON.stringify(value)]
}

/** The forms in which a secret may appear: unchanged, in JSON, in a URL, in base64, and line by line. */
function spellings (secret: string): string[] {
  if (secret.length < secretLengthMin) return []
  const value = secret.toWellFormed()
  const json = JSON.stringify(secret).slice(1, -1)
  const url = encodeURIComponent(value)
  const strict = url.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  const urls = [url, strict, url.replaceAll('%20', '+'), strict.replaceAll('%20', '+')]
  const bytes = Buffer.from(value)
  return [
    secret,
    value,
    secret.replaceAll(/\p{Cc}+/gu, ' ').trim(), // as error messages quote it
    json,
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[^\x20-\x7e]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
    JSON.stringify(json).slice(1, -1),
    ...urls,
    ...urls.map(url => url.replaceAll(/%[0-9A-F]{2}/g, code => code.toLowerCase())),
    ...base64s(bytes),
    ...(/[\r\n]/.test(secret)
      ? secret.split(/[\r\n]+/).map(line => line.trim()).filter(line => line.length >= partLengthMin)
      : [])
  ].filter(spelling => spelling.length >= secretLengthMin)
}

/**
 * The base64 forms of a secret: alone, and as a part of a longer value, such as `user:secret`, where the bytes before
 * the secret shift its groups of characters.
 */
function base64s (bytes: Buffer): string[] {
  const whole = [bytes.toString('base64'), bytes.toString('base64').replaceAll('=', '')]
  const within = [0, 1, 2].map(shift => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    // Characters at both ends that contain bits of a neighbouring byte are left out.
    return shifted.toString('base64').slice(Math.ceil(shift * 8 / 6), Math.floor(shifted.length * 8 / 6))
  }).filter(part => part.length >= partLengthMin)
  return [...whole, ...within].flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}

/** The number of spans that one step replaces. */
const stepSpans = 4_096

/** Replaces each needle in a text, and each piece of a needle at its cut ends, with the mark. */
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
