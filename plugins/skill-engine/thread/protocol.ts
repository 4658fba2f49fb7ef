import type { MessagePort } from 'node:worker_threads'

/** What the thread that describes one skill is started with. */
export interface DescribeData {
  /** Absolute path of the skill's code. */
  entry: string
  /** Where the built file goes. */
  cache_dir: string
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

/** The one message of the thread, as JSON text. */
export type DescribeReply = { description: CodeDescription } | { fault: FaultKind, message: string }

/** The most characters of the message. */
export const replyMax = 4 * 1_048_576
