import { isObject } from '../../kernel/index.ts'
import type { Reply } from '../toolkit/net/request.ts'
import { decodeText, isText, typeOf } from '../toolkit/net/text.ts'

/** Larger JSON is not laid out, in characters. */
const prettyMax = 4_096
/** Larger binary answers are described and not given, in bytes. */
const base64Max = 32_768
/** How much of a text says why a call failed, in characters. */
const reasonMax = 1_000

/** The JSON of an answer; undefined when it is none. */
export function jsonOf ({ headers, body, truncated }: Reply): unknown {
  if (truncated || !/json/.test(typeOf(headers['content-type'] ?? 'application/json'))) return undefined
  try {
    return JSON.parse(decodeText(body, 'application/json').text) as unknown
  } catch {
    return undefined
  }
}

/** JSON as a text: laid out where it is small. */
export function jsonText (value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > prettyMax ? text : JSON.stringify(value, null, 2)
}

/** What an agent sees of an answer. */
export function textOfReply (reply: Reply): string {
  const { status, status_text, headers, body, truncated } = reply
  const type = headers['content-type'] ?? ''
  if (body.length === 0) {
    const { location, etag, 'content-length': length, 'last-modified': modified } = headers
    const about = { location, etag, type: type || undefined, length, modified }
    const known = Object.entries(about).filter(([, value]) => value !== undefined)
    return [`HTTP ${status} ${status_text}`.trimEnd(), ...known.map(([name, value]) => `${name}: ${value}`)].join('\n')
  }
  const value = jsonOf(reply)
  if (value !== undefined) return jsonText(value)
  if (isText(body, type)) {
    const { text } = decodeText(body, type)
    return truncated ? `${text}\n[the answer is longer than ${body.length} bytes; its end was not read]` : text
  }
  const small = !truncated && body.length <= base64Max
  return jsonText({
    type: typeOf(type) || 'application/octet-stream', bytes: body.length, ...(truncated && { longer: true }),
    ...(small
      ? { base64: body.toString('base64') }
      : { note: `binary content is given in base64 up to ${base64Max} bytes` })
  })
}

/** Why a call failed, from its answer: the problem document (RFC 9457), or what else there is. */
export function reasonOf (reply: Reply): string {
  const { status, status_text, headers, body } = reply
  const line = `HTTP ${status} ${status_text}`.trimEnd()
  const value = jsonOf(reply)
  const words = isObject(value)
    ? wordsOf(value)
    : isText(body, headers['content-type'] ?? '') && !/html/.test(headers['content-type'] ?? '')
      ? decodeText(body, headers['content-type'] ?? '').text : ''
  const wait = headers['retry-after'] === undefined ? '' : ` (the server says Retry-After: ${headers['retry-after']})`
  return `${line}${words.trim() === '' ? '' : `: ${words.trim().slice(0, reasonMax)}`}${wait}`
}

function wordsOf (value: Record<string, unknown>): string {
  const { title, detail, message, error, error_description, errors } = value
  const inner = isObject(error) ? wordsOf({ ...error, error: undefined }) : error
  const found = [title, detail, message, inner, error_description]
    .filter((text, i, all) => typeof text === 'string' && text !== '' && all.indexOf(text) === i)
  const list = Array.isArray(errors) ? JSON.stringify(errors) : ''
  return [...found, list].filter(text => text !== '').join(': ')
}
