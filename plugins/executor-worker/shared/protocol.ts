import type { MessagePort } from 'node:worker_threads'
import type { JsonObject, LogLevel } from '../../../kernel/index.ts'

/**
 * What crosses the border between the main thread and a script thread, over a port that tools are not given. One
 * message `run` or `batch` makes one message `ended`; what happens between them is told by the others, each with the
 * number of its run, and by the board.
 */
export type ToThread =
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
  | {
    type: 'batch', run: number, tools: readonly CallTool[], tool_of: readonly number[],
    execution_ids: readonly string[], parameters: string
  }
  /** Asks whether it answers. Only while it has no run. */
  | { type: 'ping' }
  /** Asks a running tool to end: its signal aborts. */
  | { type: 'ask', run: number }

export type FromThread =
  /** The answer to `ping`. */
  | { type: 'pong' }
  | { type: 'loading', run: number }
  /** `run()` of the tool is called next. */
  | { type: 'started', run: number }
  /**
   * The tool has returned a promise that is pending: the thread is not computing, and begins no other call of a batch.
   */
  | { type: 'waiting', run: number }
  | { type: 'progress', run: number, done: number, total: number | undefined, message: string | undefined }
  | { type: 'log', run: number, level: LogLevel, text: string }
  /** The result of one call of a batch, where the board can't tell it. */
  | { type: 'told', run: number, result: ToolResult, ran_ms: number }
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

/** The end of a run or of a batch. Nothing else is said of it afterwards. */
export interface Ended {
  type: 'ended'
  run: number
  result: Result
  /** How long the tool ran, by the thread's own clock: a busy main thread does not make a run longer. */
  ran_ms: number
  /** `settling`: something was left open, and may yet close. `spent`: it is of no use to anybody else. */
  thread: 'free' | 'settling' | 'spent'
}

/** What a tool came to. */
export type ToolResult =
  /** `text` may be only the beginning of `bytes` bytes: as much as can be kept. */
  | { kind: 'output', text: string, bytes: number }
  | { kind: 'failed', message: string, name: string | undefined }

export type Result =
  | ToolResult
  /** The run was recalled before the tool began. */
  | { kind: 'recalled' }
  /** Of a batch: the results of its calls stand on the board, or were told. */
  | { kind: 'board' }

/** A message of one type. */
export type Of<T extends (ToThread | FromThread)['type']> = Extract<ToThread | FromThread, { type: T }>

/** What a thread is given at its start. */
export interface ThreadData {
  /** The memory of its board. */
  board: SharedArrayBuffer
  output_bytes_max: number
  /**
   * Past this much memory (heap and buffers) at the end of a run, a thread is not used again: what was kept might
   * starve the next.
   */
  memory_bytes_kept_max: number
  /** How much it gives way to other threads of the machine: 0 not at all, 19 most. */
  nice: number
}

/** The task by which a thread begins to serve. */
export interface Service {
  /** The thread's end of the port by which it is given runs. */
  port: MessagePort
}

/** What a thread says of one run, and how often, at most: both sides keep to it. */
export const speech = {
  /** Lines an execution may log, the last of which says that the log ends there, and their length in characters. */
  lines: 1000,
  line_characters: 8192,
  /** Progress is told at most so often; the last is always told. */
  progress_ms: 100,
  progress_characters: 1024,
  /** Of a failure. */
  failure_characters: 8192,
  name_characters: 128,
  /** Errors that belong to no execution, of one thread. */
  strays: 100
} as const

/** The name under which a thread's global object holds a function for the bytes that its buffers take. */
export const externalBytesName = '__skillet_external_bytes'
