import type { SoughtWord } from '../../../kernel/index.ts'

/** What the thread of the words gets at its start. */
export interface ThreadData {
  /** The file of the history, which this process has open. */
  readonly file: string
  /** Where the files of words are. */
  readonly folder: string
}

/** What the thread is asked. */
export type ToThread =
  | { type: 'find', id: number, words: readonly SoughtWord[], patience_ms: number }
  | { type: 'end' }

/** What the thread answers. */
export type FromThread =
  | { type: 'found', id: number, found: Found }
  | { type: 'failed', id: number, message: string }
  /** The index can't be completed; it is tried again with the next query. */
  | { type: 'stuck', message: string }

/** Which executions have the words of a query. */
export interface Found {
  /** The sequence number of the first bit. */
  readonly first: number
  /** A bit for each sequence number. */
  readonly bits: Uint8Array<ArrayBuffer>
  /** How many executions are not in the index yet. */
  readonly unindexed: number
}
