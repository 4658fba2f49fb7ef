import { isObject } from '../../../kernel/index.ts'
import { readFromThread } from './incoming.ts'
import type { FromThread, ThreadData, ToThread } from './protocol.ts'

/**
 * What crosses the border between the server and a process of its own for a skill's scripts: frames of JSON, with the
 * messages of script threads. There is no board: each run of a batch has a message `started` before its tool is called,
 * and a message `told` with its result.
 */
export type ToProcess = ToThread

export type FromProcess =
  | FromThread
  /** It has started, and takes runs. */
  | { type: 'ready' }
  /** The answer to `ask` for a run of a batch that had not begun: now it never will. */
  | { type: 'recalled', run: number }

/** What the process is told at its start, as JSON in its first argument. */
export interface ProcessData extends Pick<ThreadData, 'output_bytes_max' | 'memory_bytes_kept_max'> {
  /** Whether a list says what it may reach: then its variables name a proxy. */
  listed: boolean
}

/** Beside an output, in bytes: the rest of a frame. */
const frame_bytes = 262_144
/** Bytes that JSON makes of one character, at most: an escape. */
const escape_bytes = 6

/** The longest frame that a process sends, in bytes. */
export function frameBytesMax (outputBytesMax: number): number {
  return frame_bytes + escape_bytes * outputBytesMax
}

/**
 * Reads what came from a process. Tools run there, so it may be any value that JSON can hold.
 * @param textMax the longest output, in characters
 * @returns undefined where it is no message that a process sends
 */
export function readFromProcess (value: unknown, textMax: number): FromProcess | undefined {
  if (!isObject(value)) return undefined
  const { type, run } = value
  if (type === 'ready') return { type }
  if (type === 'recalled') return typeof run === 'number' && Number.isSafeInteger(run) ? { type, run } : undefined
  return readFromThread(value, textMax)
}
