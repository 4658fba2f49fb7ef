import { speech, type ToolResult } from '../shared/protocol.ts'

/** The longest message of a failure, and the longest name of its error. */
const { failure_characters: messageMax, name_characters: nameMax } = speech

/**
 * The output that a returned value is: a string as it is, nothing for undefined, anything else as JSON.
 * @param bytesMax how many bytes can be kept: no more characters than that are sent on
 */
export function resultOf (value: unknown, bytesMax: number): ToolResult {
  let text
  try {
    text = textOf(value)
  } catch (error) {
    return {
      kind: 'failed',
      message: `the value the tool returned can't be serialized as JSON: ${messageOfThrow(error)}`,
      name: undefined
    }
  }
  // Lone surrogates have no UTF-8: nothing after this could keep them.
  const whole = text.toWellFormed()
  const bytes = Buffer.byteLength(whole)
  return { kind: 'output', text: bytes <= bytesMax ? whole : whole.slice(0, bytesMax), bytes }
}

function textOf (value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined) return ''
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw new TypeError(`a ${typeof value} has no JSON`)
  return json
}

/** Whatever was thrown, as a failure. */
export function failureOf (thrown: unknown, prefix = ''): ToolResult {
  return { kind: 'failed', message: bounded(prefix + messageOfThrow(thrown), messageMax), name: nameOf(thrown) }
}

/** The message of whatever was thrown; its getters may throw in turn. */
export function messageOfThrow (thrown: unknown): string {
  try {
    if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) {
      const message = thrown.message
      if (typeof message === 'string' && message !== '') return bounded(message, messageMax)
      return nameOf(thrown) ?? 'an error without a message'
    }
    if (typeof thrown === 'object' && thrown !== null) {
      return `an object was thrown: ${bounded(JSON.stringify(thrown) ?? '', messageMax)}`
    }
    return bounded(String(thrown), messageMax)
  } catch {
    return 'a value was thrown that can\'t be described'
  }
}

function nameOf (thrown: unknown): string | undefined {
  try {
    if (typeof thrown !== 'object' || thrown === null || !('name' in thrown)) return undefined
    return typeof thrown.name === 'string' && thrown.name !== '' ? bounded(thrown.name, nameMax) : undefined
  } catch {
    return undefined
  }
}

/** A text cut to so many characters, with an ellipsis where it was cut. */
export function bounded (text: string, charactersMax: number): string {
  return (text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`).toWellFormed()
}
