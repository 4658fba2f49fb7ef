import type { MessagePort } from 'node:worker_threads'
import type { JsonObject, LogLevel } from '../../kernel/index.ts'

/**
 * What crosses the border between the main thread and a script thread. One message `run` makes one message `ended`;
 * what happens between them is told by the others, each with the number of its run. A batch would be one more
 * message: the numbers already tell its runs apart.
 */
export type Message =
  // From the main thread:
  | {
    type: 'run'
    run: number
    execution_id: string
    /** Absolute path of the module, and what differs whenever its code does. */
    module: string
    revision: string
    tool: string
    parameters: JsonObject
    config: JsonObject
    secrets: Readonly<Record<string, string>>
    /** Whether it is given anything secret: then nothing it says after its end may be logged. */
    sensitive: boolean
    /** Environment variables the skill may see, beyond the thread's own few. */
    env: Record<string, string>
  }
  /** Asks whether it answers: the piscina task returns. */
  | { type: 'ping' }
  /** Asks a running tool to end: its signal aborts. */
  | { type: 'ask', run: number }
  // From the thread:
  /** It is up; `port` takes `ask`. */
  | { type: 'ready', port: MessagePort }
  | { type: 'loading', run: number }
  /** `run()` of the tool is called next. */
  | { type: 'started', run: number }
  /** The tool has returned a promise that is pending: the thread is not computing. */
  | { type: 'waiting', run: number }
  | { type: 'progress', run: number, done: number, total: number | undefined, message: string | undefined }
  | { type: 'log', run: number, level: LogLevel, text: string }
  /** What a thread said to be `settling` had open is closed: it can be given another run. */
  | { type: 'clean', run: number }
  /** An error that belongs to no running execution. */
  | { type: 'stray', text: string }
  | Ended

/**
 * The result of a run. It is what the piscina task returns; where other messages came before it, or the thread may end
 * after it, it is sent as they are (in order, and heard even if the thread ends) and the task returns null.
 */
export interface Ended {
  type: 'ended'
  run: number
  result: Result
  /** How long the tool ran, by the thread's own clock: a busy main thread does not make a run longer. */
  ran_ms: number
  /** `settling`: something was left open, and may yet close. `spent`: it is of no use to anybody else. */
  thread: 'free' | 'settling' | 'spent'
}

export type Result =
  /** `text` may be only the beginning of `bytes` bytes: as much as can be kept. */
  | { kind: 'output', text: string, bytes: number }
  | { kind: 'failed', message: string, name: string | undefined }
  /** The run was recalled before the tool began. */
  | { kind: 'recalled' }

/** A message of one type. */
export type Of<T extends Message['type']> = Extract<Message, { type: T }>

/** What a thread is given at its start. */
export interface ThreadData {
  claim: Int32Array
  output_bytes_max: number
  /** Past this much heap at the end of a run, a thread is not used again: what was kept might starve the next. */
  heap_bytes_kept_max: number
}

/**
 * How far a run has come, in memory that both sides share. Whether a tool has begun is decided here, by an atomic
 * exchange, and not by messages: a run that was recalled never begins, one that began is never given to another.
 */
export const claims = { dispatched: 1, loading: 2, begun: 3, recalled: 4 } as const

/** Moves a claim on; false when the other side was first. */
export function exchange (claim: Int32Array, from: number, to: number): boolean {
  return Atomics.compareExchange(claim, 0, from, to) === from
}

/** Whether something that came from a thread is a message: tools can post there too. */
export function isMessage (value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
