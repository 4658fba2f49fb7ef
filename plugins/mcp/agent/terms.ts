import { isObject, type JsonObject, type Tool } from '../../../kernel/index.ts'
import { asks } from './client-input.ts'

/** The output of a tool in the form of MCP content: its output is JSON of exactly one of these shapes. */
export type Terms =
  /** Images and other contents. */
  | { content: JsonObject[] }
  /** Messages of a prompt. */
  | { messages: JsonObject[] }
  /** Questions that the client must ask its user, or values that it must give, before the tool runs again. */
  | { inputRequests: JsonObject, requestState?: string }

/**
 * Reads an output as MCP content. Only a tool with a parameter for answers may ask questions, since other tools may
 * pass on text from strangers.
 */
export function termsOf (output: string, tool: Pick<Tool, 'parameters'>): Terms | undefined {
  if (!/^\s*\{\s*"(?:content|messages|inputRequests|requestState)"\s*:/.test(output)) return undefined
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { content, messages, inputRequests, requestState, ...more } = value
  if (Object.keys(more).length > 0) return undefined
  const others = [content, messages, inputRequests].filter(field => field !== undefined).length
  if (others !== 1) return undefined
  if (areObjects(content) && requestState === undefined) return { content }
  if (areObjects(messages) && requestState === undefined) return { messages }
  if (!isObject(inputRequests) || !asks(tool)) return undefined
  if (requestState === undefined) return { inputRequests }
  return typeof requestState === 'string' ? { inputRequests, requestState } : undefined
}

/** The text of the content, with a mark for each content that is not text, for clients that read only text. */
export function textOf (terms: Terms): string {
  if ('inputRequests' in terms) return ''
  const contents = 'content' in terms ? terms.content : terms.messages.map(({ content }) => content)
  return contents.map(content => {
    if (!isObject(content)) return ''
    const { type, text, mimeType } = content
    return type === 'text' && typeof text === 'string'
      ? text
      : `[${typeof mimeType === 'string' ? mimeType : String(type)}]`
  }).join('\n')
}

function areObjects (value: unknown): value is JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}
