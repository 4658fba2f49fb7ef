import type { Logger } from '../lib/log.ts'

/** The context of a work on the history as a whole. */
export interface CareContext {
  /** Absolute path of the data directory, which may be missing. */
  data_dir: string
  log: Logger
  signal: AbortSignal
}

/** A copy of the history. */
export interface Backup {
  /** Absolute path of the copy. */
  file: string
  bytes: number
  executions: number
}

/** A history that has been put in its place. */
export interface Restored {
  executions: number
  /** Where the former history is now; null when there was none. */
  aside: string | null
}

/** Executions in a row that could not be saved. */
export interface LostExecutions {
  executions: number
  /** When the kept execution before them, and the one after them, was created; null where there is none. */
  after: string | null
  before: string | null
}

/** What a repair did. */
export interface Repair {
  /** What was wrong; null when nothing was, and nothing was changed. */
  damage: string | null
  /** Where the damaged file is now; null when nothing was changed. */
  aside: string | null
  /** How many executions the history has now. */
  kept: number
  /** How many executions are lost; null when the damaged file does not tell how many it had. */
  lost: number | null
  /** Where they are missing, at most the first 20 places. */
  gaps: LostExecutions[]
}

/**
 * What commands do with the history as a whole. No storage needs to be set up for it, since the history may be one that
 * no storage can open. All functions may take minutes, and change nothing when they throw. Each error names the file
 * and says what to do.
 */
export interface HistoryCare {
  /**
   * Writes a copy of the history as of one moment, whether other processes use it or not. Only the owner can read the
   * copy. It is on disk when the promise resolves.
   * @param file absolute path, where nothing is
   */
  backup (file: string, context: CareContext): Promise<Backup>
  /**
   * Puts a copy in the place of the history, and keeps the former history. Executions that had not ended in the copy
   * end as `interrupted` at the next start.
   * @param file absolute path of the copy, which is not changed
   * @throws Error when the copy is not a good history, or when a process uses the data directory
   */
  restore (file: string, context: CareContext): Promise<Restored>
  /**
   * Checks the whole history. When it is damaged, puts one in its place that has what can still be read of it.
   * @throws Error when a process uses the data directory
   */
  repair (context: CareContext): Promise<Repair>
}
