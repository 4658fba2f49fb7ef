import { SkilletError } from './errors.ts'

/** The deepest nesting of arrays and objects that is read. */
export const jsonDepthMax = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads one JSON value out of untrusted bytes.
 * @throws SkilletError INVALID_PARAMETERS, saying what is wrong and where: invalid UTF-8, a byte order mark, nesting
 * past `jsonDepthMax`, broken JSON or anything after it, a key named `__proto__`
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
  // Only a text that spells the key, or can escape it, is walked.
  if ((text.includes('__proto__') || text.includes('\\u005')) && hasProtoKey(value)) throw invalid('body has a key "__proto__", which is not allowed')
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

function hasProtoKey (value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values(value).some(hasProtoKey)
}
