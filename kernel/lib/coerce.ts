import { decodeJson } from './json.ts'

/**
 * Converts a text from a query string, a variable or the command line to the type of the schema. A text that can't be
 * converted stays a string, so that the validation refuses it with its own message.
 */
export function coerceText (schema: unknown, text: string): unknown {
  switch (typeOf(schema)) {
    case 'integer': return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text
    case 'number': return /^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : text
    case 'boolean': return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
    case 'object': try { return decodeJson(Buffer.from(text)) } catch { return text }
    default: return text
  }
}

function typeOf (schema: unknown): unknown {
  return typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : undefined
}
