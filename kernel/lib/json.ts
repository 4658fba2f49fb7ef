import { SkilletError } from './errors.ts'

/** A JSON object with unknown keys. */
export type JsonObject = Record<string, unknown>

/** The maximum nesting of arrays and objects in JSON that is accepted. */
export const jsonDepthMax = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether a value is an object and not an array. */
export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Only a text that matches can contain a fault that `faultOf` finds, so `faultOf` does not run for most texts. */
const suspicious = /__proto__|\\u005|\\u[dD][89a-fA-F]|[eE]\+?\d{3}|\d{200}/

/**
 * Reads a JSON value from untrusted bytes. When a key occurs twice, the last value counts, as in JSON.parse: this is
 * safe because no other program reads the text. `constructor` is a normal key.
 * @throws SkilletError INVALID_PARAMETERS, with the fault and its place: invalid UTF-8, a byte order mark, nesting
 * deeper than `jsonDepthMax`, broken JSON or text after it, a key named `__proto__`, or a value that could not be
 * passed on unchanged: a number beyond the range of doubles, or a text with half of a surrogate pair
 */
export function decodeJson (bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw invalid('body is empty; send a JSON object')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw invalid('body begins with a byte order mark; send plain UTF-8')
  }
  // The nesting is limited before the parsing, because JSON.parse is recursive.
  if (bytes.length > jsonDepthMax && depthOf(bytes) > jsonDepthMax) {
    throw invalid(`body nests deeper than ${jsonDepthMax} levels`)
  }
  let text
  try {
    text = utf8.decode(bytes)
  } catch {
    throw invalid('body is not valid UTF-8')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalid(`body is not valid JSON: ${error instanceof SyntaxError ? withoutQuote(error.message) : 'syntax error'}`)
  }
  const fault = suspicious.test(text) ? faultOf(value) : undefined
  if (fault !== undefined) throw invalid(`body ${fault}`)
  return value
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}

/** The message of the JavaScript engine, without the quoted part of the text, which may be a secret. */
function withoutQuote (message: string): string {
  return message.replace(/(?:, )?(?:\.\.\.)?".*" ?(?:\.\.\.)? ?is not valid JSON$/s, '') || 'syntax error'
}

/** The maximum nesting of brackets outside strings. The function stops when the limit is exceeded. */
function depthOf (bytes: Uint8Array): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === 0x5c) i++ // backslash: the next byte is escaped
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > deepest && (deepest = depth) > jsonDepthMax) return deepest
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return deepest
}

/** The fault inside a value, or undefined. The nesting of the value is at most `jsonDepthMax`. */
function faultOf (value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'has a number that is too large'
  if (typeof value === 'string') {
    return /\p{Surrogate}/u.test(value) ? 'has a text with half of a surrogate pair' : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, '__proto__')) return 'has a key "__proto__", which is not allowed'
  for (const [key, inner] of Object.entries(value)) {
    const fault = faultOf(key) ?? faultOf(inner)
    if (fault !== undefined) return fault
  }
  return undefined
}
