import { SkilletError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import type { Execution } from '../contracts/schemas.ts'

/** What may wait for a commit while more executions are admitted, in every storage. */
export const pendingLimits = { executions: 50_000, bytes: 256 * 1_048_576 } as const

/** A record beside its texts, in bytes: about what V8 needs for its objects. */
const frame_bytes = 1_000
/** A number, a boolean, or the place of a value in its list or object. */
const value_bytes = 8

/**
 * About how many bytes of memory a record takes; at most two for each character. It is asked for each record that is
 * saved, so it looks at lengths only and makes nothing.
 */
export function recordBytes ({ parameters, output, error }: Execution): number {
  const ofError = error === null ? 0 : 2 * error.message.length + valueBytes(error.details)
  return frame_bytes + 2 * output.length + valueBytes(parameters) + ofError
}

function valueBytes (value: unknown): number {
  if (typeof value === 'string') return value_bytes + 2 * value.length
  let bytes = value_bytes
  if (Array.isArray(value)) for (const item of value) bytes += valueBytes(item)
  else if (isObject(value)) for (const name in value) bytes += 2 * name.length + valueBytes(value[name])
  return bytes
}

/** @throws SkilletError OVERLOADED when so much waits for a commit that no further execution may begin */
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
