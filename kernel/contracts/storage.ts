import type { ProcessIdentity } from '../lib/process-identity.ts'
import type { Execution, ExecutionStatus, ExecutionSummary } from './schemas.ts'

/** An execution as it is stored: the record, and the process that must finish it (null once it is final). */
export interface StoredExecution {
  readonly execution: Execution
  readonly owner: ProcessIdentity | null
}

/** An execution without a final state, and the process that must finish it. */
export interface UnfinishedExecution {
  readonly id: string
  readonly owner: ProcessIdentity
}

/** Which executions a list wants; newest first. Without a filter, any offset costs the same. */
export interface ExecutionQuery {
  /** 1 to 500 */
  limit: number
  /** Matching records to skip. */
  offset: number
  /** Continue after the page that gave this cursor; `offset` counts from there. */
  cursor?: string
  skill_name?: string
  tool_name?: string
  status?: ExecutionStatus
  /** Only executions created at or after this time (Unix milliseconds). */
  created_from_ms?: number
  /** Only executions created before this time (Unix milliseconds). */
  created_before_ms?: number
  /** Only executions of tools for which this holds: the rights of a key. */
  allows?: (skill_name: string, tool_name: string) => boolean
}

export interface ExecutionPage {
  executions: ExecutionSummary[]
  /**
   * All matching executions, whatever the cursor: exact without a filter; with one, exact up to `filteredTotalMax`,
   * which it never exceeds.
   */
  total: number
  /** Where the next page begins; absent on the last. */
  next_cursor?: string
}

/** With a filter, a list counts matches up to here and no further. */
export const filteredTotalMax = 10_000

/**
 * Keeps executions. Several processes may use one store at once. Each execution has a dense sequence number,
 * given when it is first committed; the newest has the highest. Past the limits of the configuration the oldest are
 * pruned; an unfinished one is stepped over, and pruned when it ends.
 */
export interface Storage {
  /**
   * Asked before an execution begins to be: whoever may go on is never refused by `save`.
   * @throws SkilletError OVERLOADED when too much is waiting for a commit
   */
  admit (): void
  /**
   * Takes the newest state of an execution and sees to it that a commit follows soon. Cheap and synchronous. The
   * object may be read as late as that commit: who changes it saves it again.
   */
  save (stored: StoredExecution): void
  /**
   * Resolves when everything saved before this call is committed to disk; callers share a commit. Rejects when that
   * commit failed.
   */
  commit (): Promise<void>
  /** One execution, by id, with all that was saved, committed or not. */
  get (id: string): Promise<StoredExecution | undefined>
  /**
   * A page of executions, with all that was saved before this call.
   * @throws SkilletError INVALID_PARAMETERS for a cursor it did not give
   */
  list (query: ExecutionQuery): Promise<ExecutionPage>
  /** Executions without a final state, of all processes. */
  unfinished (): Promise<UnfinishedExecution[]>
  /**
   * Ends executions that nobody will finish: each only where, in the transaction that writes it, it is still unfinished
   * and still has that owner. Committed when this resolves, in few transactions, none of which takes long.
   * @param end makes the final record of the present one: synchronous, short, and without effect where the transaction
   * fails
   * @returns the ids of those it ended; the others had ended, or were pruned
   */
  endUnfinished (found: readonly UnfinishedExecution[], end: (execution: Execution) => Execution): Promise<string[]>
  /**
   * Asks the owner of an unfinished execution, in whatever process, to cancel it. Forgotten when the execution ends.
   */
  requestCancel (id: string): Promise<void>
  /** Ids somebody asked to cancel and that have not ended. Synchronous and cheap: it is polled. */
  cancelRequests (): string[]
  /**
   * Claims a role (such as `serve`) for a process; its holder renews it so, with a new note. Resolves undefined when it
   * now holds the role; otherwise with the present holder. A claim whose `isAlive` is false is taken over, atomically.
   */
  claim (role: string, claim: Lease, isAlive: (owner: ProcessIdentity) => boolean): Promise<Lease | undefined>
  /** Gives a role back; nothing happens when another holds it. */
  release (role: string, owner: ProcessIdentity): Promise<void>
  /** Who holds a role, be it alive or not. */
  holder (role: string): Promise<Lease | undefined>
  /** What plugins keep beside the executions, to spare themselves work. */
  readonly cache: Cache
}

/**
 * Keeps what is costly to make anew, by key. Several processes may use one at once. It is bounded, and forgets the
 * oldest first: whoever reads from it can do without.
 */
export interface Cache {
  /** The values of so many keys, in their order; undefined where it has none. At most `cacheLimits.keys` at once. */
  read (keys: readonly string[]): Promise<(Uint8Array | undefined)[]>
  /**
   * Keeps values; one that is there already stays. At most `cacheLimits.keys` at once.
   * @throws Error for a key or value above the limits; nothing of the call is kept then
   */
  write (entries: readonly (readonly [key: string, value: Uint8Array])[]): Promise<void>
}

export const cacheLimits = { entries: 65_536, keys: 1_000, key_characters: 200, value_bytes: 16_384 } as const

/** Who holds a role, and what others should know of it (such as its URL). */
export interface Lease { owner: ProcessIdentity, note: string }
