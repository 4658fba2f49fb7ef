import type { MessagePort } from 'node:worker_threads'

/** What the thread that describes one skill is started with. */
export interface DescribeData {
  /** Absolute path of the skill's code. */
  entry: string
  /** Where the built file goes. */
  cache_dir: string
  /** The setting `execution.heap_bytes_max`. */
  heap_bytes_max: number
  /** Whether the code runs in the thread; else it is only built. */
  runs: boolean
  port: MessagePort
}

/** The kinds of faults of a skill's code. */
export const faultKinds = ['code-error', 'exports-missing', 'tools-invalid'] as const
export type FaultKind = typeof faultKinds[number]

/** What the code of a skill says of itself. */
export interface CodeDescription {
  /** The name of the built file in the cache. */
  file: string
  /** Absolute paths of the files of which it was built. */
  inputs: string[]
  metadata: unknown
  tools: unknown
}

/** Why code can't be described. */
export interface DescribeFault { fault: FaultKind, message: string }

/** The one message of the thread, as JSON text. */
export type DescribeReply = { description: CodeDescription } | DescribeFault

/** The most characters of the message. */
export const replyMax = 4 * 1_048_576
