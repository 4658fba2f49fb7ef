import type { MessagePort } from 'node:worker_threads'
import type { JsonObject, LogLevel } from '../../kernel/index.ts'

/**
 * What crosses the border between the main thread and a script thread. One message `run` or `batch` makes one message
 * `ended`; what happens between them is told by the others, each with the number of its run, and by the board.
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
  /**
   * Runs of short tools, one after another, each in the slot of the board that has its index and with the number that
   * follows. In columns, with all parameters in one text: as an object for each call it took ten times as long to send.
   */
  | { type: 'batch', run: number, tools: readonly CallTool[], tool_of: readonly number[], execution_ids: readonly string[], parameters: string }
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
  /** The tool has returned a promise that is pending: the thread is not computing, and begins no other call of a batch. */
  | { type: 'waiting', run: number }
  | { type: 'progress', run: number, done: number, total: number | undefined, message: string | undefined }
  | { type: 'log', run: number, level: LogLevel, text: string }
  /** The result of one call of a batch, where the board can't tell it. */
  | { type: 'told', run: number, result: Result, ran_ms: number }
  /** What a thread said to be `settling` had open is closed: it can be given another run. */
  | { type: 'clean', run: number }
  /** An error that belongs to no running execution. */
  | { type: 'stray', text: string }
  | Ended

/** What the calls of a tool in a batch share. */
export interface CallTool {
  module: string
  revision: string
  tool: string
  config: JsonObject
  env: Record<string, string>
}

/**
 * The result of a run, or the end of a batch. It is what the piscina task returns; where other messages came before it, or the thread may end
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
  /** Of a batch: the results of its calls stand on the board, or were told. */
  | { kind: 'board' }

/** A message of one type. */
export type Of<T extends Message['type']> = Extract<Message, { type: T }>

/** What a thread is given at its start. */
export interface ThreadData {
  /** The memory of its board. */
  board: SharedArrayBuffer
  output_bytes_max: number
  /** Past this much heap at the end of a run, a thread is not used again: what was kept might starve the next. */
  heap_bytes_kept_max: number
}

/** Whether something that came from a thread is a message: tools can post there too. */
export function isMessage (value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
