import { SkilletError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import type { Execution } from '../contracts/schemas.ts'
import { timelineBytes } from './live/journal.ts'

/**
 * Limits of the executions that wait for a commit, for every storage. At a limit, no further executions are admitted.
 */
export const pendingLimits = { executions: 50_000, bytes: 256 * 1_048_576 } as const

/** Size of a record without its texts, in bytes: about the memory that V8 needs for its objects. */
const frame_bytes = 1_000
/** Size of a number, a boolean, or the slot of a value in its array or object, in bytes. */
const value_bytes = 8

/**
 * Estimates the memory of a record in bytes, with two bytes for each character at most. The function runs for each
 * saved record, so it only adds lengths and allocates nothing.
 */
export function recordBytes ({ parameters, output, error, timeline }: Execution): number {
  const ofError = error === null ? 0 : 2 * error.message.length + valueBytes(error.details)
  return frame_bytes + 2 * output.length + valueBytes(parameters) + ofError + timelineBytes(timeline)
}

function valueBytes (value: unknown): number {
  if (typeof value === 'string') return value_bytes + 2 * value.length
  let bytes = value_bytes
  if (Array.isArray(value)) for (const item of value) bytes += valueBytes(item)
  else if (isObject(value)) for (const name in value) bytes += 2 * name.length + valueBytes(value[name])
  return bytes
}

/** @throws SkilletError OVERLOADED when the executions that wait for a commit have reached a limit */
export function refuseTooManyPending (executions: number, bytes: number): void {
  if (executions >= pendingLimits.executions) {
    throw overloaded(`${executions} executions`, `${pendingLimits.executions}`)
  }
  if (bytes >= pendingLimits.bytes) {
    throw overloaded(`Executions of ${bytes} bytes`, `${pendingLimits.bytes} bytes`)
  }
}

function overloaded (waiting: string, limit: string): SkilletError {
  const text = `${waiting} wait for the history to be written, and ${limit} may; try again later`
  return new SkilletError('OVERLOADED', text)
}
