import { isObject, type JsonObject, type Tool } from '../../../kernel/index.ts'
import { asks } from './client-input.ts'

/** What a tool says in the terms of MCP: its output is JSON of one of these shapes, and nothing else. */
export type Terms =
  /** Images and other contents. */
  | { content: JsonObject[] }
  /** Messages of a prompt. */
  | { messages: JsonObject[] }
  /** What the client is to ask of its user, or to give, before the tool is run again. */
  | { inputRequests: JsonObject, requestState?: string }

/**
 * Reads an output in the terms of MCP. Only a tool that has a parameter for answers may ask: others pass on what
 * strangers wrote.
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
  const others = [content, messages, inputRequests].filter(one => one !== undefined).length
  if (others !== 1) return undefined
  if (areObjects(content) && requestState === undefined) return { content }
  if (areObjects(messages) && requestState === undefined) return { messages }
  if (!isObject(inputRequests) || !asks(tool)) return undefined
  if (requestState === undefined) return { inputRequests }
  return typeof requestState === 'string' ? { inputRequests, requestState } : undefined
}

/** The words in it, and of what else there is a mark, for who reads text alone. */
export function textOf (terms: Terms): string {
  if ('inputRequests' in terms) return ''
  const contents = 'content' in terms ? terms.content : terms.messages.map(({ content }) => content)
  return contents.map(one => {
    if (!isObject(one)) return ''
    const { type, text, mimeType } = one
    return type === 'text' && typeof text === 'string' ? text : `[${typeof mimeType === 'string' ? mimeType : String(type)}]`
  }).join('\n')
}

function areObjects (value: unknown): value is JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}
