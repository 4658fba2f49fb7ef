import { SkilletError } from './errors.ts'

/** A JSON object whose keys are not known beforehand. */
export type JsonObject = Record<string, unknown>

/** The deepest nesting of arrays and objects that is read. */
export const jsonDepthMax = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether a value is an object, and no array. */
export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Only a text in which one of these stands can hold what `faultOf` looks for: most are never walked. */
const suspicious = /__proto__|\\u005|\\u[dD][89a-fA-F]|[eE]\+?\d{3}|\d{200}/

/**
 * Reads one JSON value out of untrusted bytes. Of a key that is there twice, the last one counts, as in JSON.parse: no
 * other program reads the text. `constructor` is a key like any other.
 * @throws SkilletError INVALID_PARAMETERS, saying what is wrong and where: invalid UTF-8, a byte order mark, nesting
 * past `jsonDepthMax`, broken JSON or anything after it, a key named `__proto__`, a number or a text that could not be
 * passed on as it is: one beyond all doubles, or one with half of a surrogate pair
 */
export function decodeJson (bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw invalid('body is empty; send a JSON object')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw invalid('body begins with a byte order mark; send plain UTF-8')
  // Bounded before parsing: JSON.parse recurses.
  if (bytes.length > jsonDepthMax && depthOf(bytes) > jsonDepthMax) throw invalid(`body nests deeper than ${jsonDepthMax} levels`)
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

/** The engine's message, without what it quotes of the text: that may be a secret. */
function withoutQuote (message: string): string {
  return message.replace(/(?:, )?(?:\.\.\.)?".*" ?(?:\.\.\.)? ?is not valid JSON$/s, '') || 'syntax error'
}

/** Deepest nesting of brackets outside strings; stops counting past the limit. */
function depthOf (bytes: Uint8Array): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === 0x5c) i++ // backslash: whatever follows is escaped
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > deepest && (deepest = depth) > jsonDepthMax) return deepest
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return deepest
}

/** What is wrong inside a value; it nests no deeper than `jsonDepthMax`. */
function faultOf (value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'has a number that is too large'
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value) ? 'has a text with half of a surrogate pair' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, '__proto__')) return 'has a key "__proto__", which is not allowed'
  for (const [key, inner] of Object.entries(value)) {
    const fault = faultOf(key) ?? faultOf(inner)
    if (fault !== undefined) return fault
  }
  return undefined
}
