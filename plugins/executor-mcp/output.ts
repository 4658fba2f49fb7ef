import type { CallToolResult } from '@modelcontextprotocol/client'
import { isDeepStrictEqual } from 'node:util'
import { outputBytesStop, outputOf, type Outcome } from '../../kernel/index.ts'

const quoteMax = 500

/** The outcome of a call that the server answered. */
export function outcomeOf (result: CallToolResult, tool: string, outputBytesMax: number): Outcome {
  const text = textOf(result)
  const output = outputOf(text, outputBytesMax)
  if (Buffer.byteLength(text) > outputBytesStop) {
    return { status: 'failed', ...output, error: { message: `${tool} put out more than 16 MiB`, details: {} } }
  }
  if (result.isError !== true) return { status: 'success', ...output }
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
function textOf ({ content, structuredContent }: CallToolResult): string {
  const texts = content.flatMap(block => block.type === 'text' ? [block.text] : [])
  const isText = texts.length === content.length
  if (structuredContent === undefined) return isText ? texts.join('\n') : JSON.stringify({ content })
  if (content.length === 0) return JSON.stringify(structuredContent)
  const [only = ''] = texts
  if (isText && texts.length === 1 && isSame(only, structuredContent)) return only
  return JSON.stringify({ content, structuredContent })
}

/** Servers repeat structured content as a text, for older clients. */
function isSame (text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), value)
  } catch {
    return false
  }
}
