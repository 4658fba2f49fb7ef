import { isDeepStrictEqual } from 'node:util'
import { isObject, outputBytesStop, outputOf, type JsonObject, type Outcome } from '../../kernel/index.ts'

const quoteMax = 500

/** What a tool answered. */
interface CallResult { content: readonly JsonObject[], structuredContent: unknown, isError: boolean }

/** Why an answer is no result of a tool. */
export class InvalidResult extends Error {
  readonly code = 'INVALID_RESULT'
}

/** The outcome of a call that the server answered. @throws InvalidResult */
export function outcomeOf (answer: unknown, tool: string, outputBytesMax: number): Outcome {
  const result = resultOf(answer)
  const text = textOf(result)
  const output = outputOf(text, outputBytesMax)
  if (Buffer.byteLength(text) > outputBytesStop) {
    return { status: 'failed', ...output, error: { message: `${tool} put out more than 16 MiB`, details: {} } }
  }
  if (!result.isError) return { status: 'success', ...output }
  const said = text.trim()
  const quote = said.length > quoteMax ? `${said.slice(0, quoteMax)}…` : said
  return {
    status: 'failed', ...output,
    error: {
      message: quote === '' ? `${tool} failed, and the server says nothing of it` : `${tool} failed: ${quote}`,
      details: {}
    }
  }
}

/**
 * What a tool answered, as one text. Texts stand one after another. Structured content alone, or with a text that holds
 * the same, is its JSON. With anything else, such as images and resources, the whole content is JSON: binary data is in
 * base64 there, with its mime type.
 */
function textOf ({ content, structuredContent }: CallResult): string {
  const texts = content.flatMap(({ type, text }) => type === 'text' && typeof text === 'string' ? [text] : [])
  const isText = texts.length === content.length
  if (structuredContent === undefined) return isText ? texts.join('\n') : JSON.stringify({ content })
  if (content.length === 0) return JSON.stringify(structuredContent)
  const [only = ''] = texts
  if (isText && texts.length === 1 && isSame(only, structuredContent)) return only
  return JSON.stringify({ content, structuredContent })
}

function resultOf (answer: unknown): CallResult {
  if (!isObject(answer)) throw new InvalidResult('its result is no object')
  const { content = [], structuredContent, isError } = answer
  if (!Array.isArray(content)) throw new InvalidResult('its content is no list')
  const blocks = content.map((block: unknown): JsonObject => {
    if (!isObject(block) || typeof block['type'] !== 'string')
      throw new InvalidResult('its content has a part without a type')
    if (block['type'] === 'text' && typeof block['text'] !== 'string')
      throw new InvalidResult('its content has a text without text')
    return block
  })
  return { content: blocks, structuredContent, isError: isError === true }
}

/** Servers repeat structured content as a text, for older clients. */
function isSame (text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), value)
  } catch {
    return false
  }
}
