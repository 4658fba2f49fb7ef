import { isObject, type LogLevel } from '../../../kernel/index.ts'
import { speech, type Ended, type FromThread, type Result, type ToolResult } from './protocol.ts'

/** A text that was cut has an ellipsis more; a failure, words of ours before it. */
const slack_characters = 256

/**
 * Reads what came from a script thread. Tools run there, so it may be anything that can be sent.
 * @param textMax the longest output, in characters
 * @returns undefined where it is no message that a thread sends
 */
export function readFromThread (value: unknown, textMax: number): FromThread | undefined {
  if (!isObject(value)) return undefined
  const { type, run } = value
  if (type === 'ended') return readEnded(value, textMax)
  if (type === 'pong') return { type }
  if (type === 'stray') {
    const { text } = value
    return isText(text, speech.failure_characters + slack_characters) ? { type, text } : undefined
  }
  if (!isCount(run)) return undefined
  switch (type) {
    case 'loading':
    case 'started':
    case 'waiting':
    case 'clean':
      return { type, run }
    case 'progress': {
      const { done, total, message } = value
      if (!isAmount(done) || !(total === undefined || isAmount(total))) return undefined
      if (!(message === undefined || isText(message, speech.progress_characters + 1))) return undefined
      return { type, run, done, total, message }
    }
    case 'log': {
      const { level, text } = value
      return isLevel(level) && isText(text, speech.line_characters + 1) ? { type, run, level, text } : undefined
    }
    case 'told': {
      const result = readToolResult(value['result'], textMax)
      const { ran_ms } = value
      return result !== undefined && isDuration(ran_ms) ? { type, run, result, ran_ms } : undefined
    }
    default: return undefined
  }
}

function readEnded (
  { run, result: value, ran_ms, thread }: Record<string, unknown>,
  textMax: number
): Ended | undefined {
  const result = readResult(value, textMax)
  if (result === undefined || !isCount(run) || !isDuration(ran_ms)) return undefined
  return thread === 'free' || thread === 'settling' || thread === 'spent'
    ? { type: 'ended', run, result, ran_ms, thread }
    : undefined
}

function readResult (value: unknown, textMax: number): Result | undefined {
  if (!isObject(value)) return undefined
  const { kind } = value
  return kind === 'board' || kind === 'recalled' ? { kind } : readToolResult(value, textMax)
}

/** Reads what a tool came to; undefined where it is nothing that a tool can come to. */
export function readToolResult (value: unknown, textMax: number): ToolResult | undefined {
  if (!isObject(value)) return undefined
  const { kind, text, bytes, message, name } = value
  switch (kind) {
    case 'output':
      // Beside the beginning of a text that is too long stands how long it is.
      return isText(text, textMax) && isCount(bytes) && bytes >= text.length ? { kind, text, bytes } : undefined
    case 'failed':
      if (!isText(message, speech.failure_characters + slack_characters)) return undefined
      return name === undefined || isText(name, speech.name_characters + 1) ? { kind, message, name } : undefined
    default: return undefined
  }
}

/** A length of time in milliseconds. */
export function isDuration (value: unknown): value is number {
  return isAmount(value) && value >= 0
}

function isText (value: unknown, charactersMax: number): value is string {
  return typeof value === 'string' && value.length <= charactersMax
}

function isAmount (value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isCount (value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isLevel (value: unknown): value is LogLevel {
  return value === 'debug' || value === 'info' || value === 'warn' || value === 'error'
}

