import type { ProcessIdentity } from '../lib/process-identity.ts'
import type { SoughtWord } from '../lib/words.ts'
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

/** The execution for which a key stands. */
export interface KeyedExecution {
  readonly execution_id: string
  /** Identifies the request of the execution: another request has another fingerprint. At most 128 characters. */
  readonly fingerprint: string
  /** When the key becomes free again, in Unix milliseconds. */
  readonly expires_ms: number
}

export const keyLimits = { characters: 128 } as const

/** What executions must have to match; without a field, any execution does. */
export interface ExecutionFilter {
  skill_name?: string
  tool_name?: string
  status?: ExecutionStatus
  /** Only executions created at or after this time (Unix milliseconds). */
  created_from_ms?: number
  /** Only executions created before this time (Unix milliseconds). */
  created_before_ms?: number
  /** Only executions of tools for which this function returns true: it expresses the rights of a key. */
  allows?: (skill_name: string, tool_name: string) => boolean
}

/** A query for a list of executions, newest first. Without a filter, every offset costs the same. */
export interface ExecutionQuery extends ExecutionFilter {
  /** Maximum number of executions in the page, 1 to 500. */
  limit: number
  /** Number of matching records to skip. */
  offset: number
  /** The list continues after the page that returned this cursor; `offset` counts from there. */
  cursor?: string
}

/**
 * Gets the facts about one execution of a tool: its status, when it was created (Unix milliseconds) and how long it ran
 * (milliseconds; 0 until it ends). They are no object, since a visit of a whole history has a million calls.
 */
export type ExecutionVisitor = (status: ExecutionStatus, created_ms: number, duration_ms: number) => void

export interface ExecutionPage {
  executions: ExecutionSummary[]
  /**
   * Number of all matching executions, whatever the cursor. Without a filter it is exact. With a filter it is exact up
   * to `filteredTotalMax`, and never exceeds `filteredTotalMax`.
   */
  total: number
  /** Cursor of the next page; absent on the last page. */
  next_cursor?: string
}

/** A page of the executions that have the words of a query. */
export interface FoundPage extends ExecutionPage {
  /**
   * The number of stored executions whose words the storage did not know yet, whether they match or not. While it is
   * not 0, a later call may find more.
   */
  unindexed: number
}

/** The highest number of matches that a list with a filter counts. */
export const filteredTotalMax = 10_000

/**
 * Stores executions. Several processes may use one store at the same time. Each execution gets a sequence number at its
 * first commit; the numbers are dense, and the newest execution has the highest number. When the history exceeds the
 * limits of the configuration, the storage prunes the oldest executions. It skips an unfinished execution, and prunes
 * it when it ends.
 */
export interface Storage {
  /**
   * Checks whether the storage can take a new execution. The kernel calls it before it creates an execution; `save`
   * never refuses an execution that `admit` has accepted.
   * @throws SkilletError OVERLOADED when too many records wait for a commit
   * @throws SkilletError STORAGE_UNAVAILABLE while records can't be written, such as on a full disk
   */
  admit (): void
  /**
   * Takes the newest state of an execution and schedules a commit. Cheap and synchronous. The storage may read the
   * object until that commit: code that changes the object must save it again.
   */
  save (stored: StoredExecution): void
  /**
   * Resolves when all records that were saved before this call are committed to disk. Several callers share one commit.
   * Rejects when that commit failed; the storage keeps the records and tries again.
   */
  commit (): Promise<void>
  /** Returns an execution by id, in its last saved state, committed or not. */
  get (id: string): Promise<StoredExecution | undefined>
  /**
   * Returns a page of executions, with all states that were saved before this call.
   * @throws SkilletError INVALID_PARAMETERS for a cursor that this storage did not return
   */
  list (query: ExecutionQuery): Promise<ExecutionPage>
  /**
   * Optional: as `list`, but only executions that have all of these words, as `executionWords` gives them. It finds
   * only what is still stored, in the state that was saved last. It may answer before it knows the words of all
   * executions: those of the newest come first.
   */
  find? (words: readonly SoughtWord[], query: ExecutionQuery): Promise<FoundPage>
  /**
   * Calls a visitor once for each execution that matches, in no particular order, with all states that were saved
   * before this call. It gives way to other work in between, and the time it takes grows with the history.
   * @param visitorOf returns the visitor of a tool; it may be called several times for a tool
   */
  visit (filter: ExecutionFilter, visitorOf: (skill_name: string, tool_name: string) => ExecutionVisitor): Promise<void>
  /**
   * Returns the whole records of the executions that match and have ended, in the order in which they were first
   * stored. Records that are pruned meanwhile are left out.
   */
  records (filter: ExecutionFilter): AsyncIterable<Execution>
  /** Returns the executions without a final state, of all processes. */
  unfinished (): Promise<UnfinishedExecution[]>
  /**
   * Ends executions that no process will finish. An execution is ended only if it is still unfinished and still has the
   * same owner in the transaction that writes it. The promise resolves after the commit. The storage uses few
   * transactions, and none of them takes long.
   * @param end makes the final record from the present record; undefined leaves the execution as it is. It is
   * synchronous and short, and has no effect when the transaction fails. It returns a record with a final state as it
   * is: a process that dies between two transactions of a commit can leave one with its owner.
   * @returns the ids of the executions that this call ended; all others had ended already, were pruned, or were left
   */
  endUnfinished (
    found: readonly UnfinishedExecution[], end: (execution: Execution) => Execution | undefined
  ): Promise<string[]>
  /**
   * Makes a process the owner of unfinished executions, under the conditions of `endUnfinished`. So of several
   * processes that want an execution, one gets it.
   * @param mayTake whether the execution is taken, from its present record; synchronous and short
   * @returns the records of the executions that this call gave to the owner
   */
  takeOver (
    found: readonly UnfinishedExecution[], owner: ProcessIdentity, mayTake: (execution: Execution) => boolean
  ): Promise<Execution[]>
  /**
   * Saves the first state of an execution under a key, unless the key stands for another execution already. One
   * transaction does both, so that of several processes with the same key, one saves its execution. Resolves after the
   * commit. A key that has expired is free, and the storage removes it.
   * @param key 1 to `keyLimits.characters` characters of ASCII
   * @returns undefined when the execution was saved; otherwise what the key stands for, and this execution is stored
   * nowhere
   * @throws SkilletError OVERLOADED when the storage has as many keys as `storage.idempotency_keys_max` allows
   * @throws SkilletError STORAGE_UNAVAILABLE when nothing can be written
   */
  saveOnce (key: string, keyed: KeyedExecution, stored: StoredExecution): Promise<KeyedExecution | undefined>
  /**
   * Asks the process that owns an unfinished execution to cancel it. The storage removes the request when the execution
   * ends.
   */
  requestCancel (id: string): Promise<void>
  /**
   * Returns the ids of unfinished executions for which a cancel request exists. Synchronous and cheap, because the
   * kernel polls it.
   */
  cancelRequests (): string[]
  /**
   * Claims a role (such as `serve`) for a process. The holder of a role renews its lease with the same call, and a new
   * note. Resolves with undefined when the process now holds the role, otherwise with the lease of the present holder.
   * When `isAlive` returns false for the present holder, the claim takes the role over, atomically.
   */
  claim (role: string, claim: Lease, isAlive: (owner: ProcessIdentity) => boolean): Promise<Lease | undefined>
  /** Releases a role; does nothing when another process holds it. */
  release (role: string, owner: ProcessIdentity): Promise<void>
  /** Returns the lease of the process that holds a role, whether that process is alive or not. */
  holder (role: string): Promise<Lease | undefined>
  /** A cache for results of plugins, stored beside the executions. */
  readonly cache: Cache
}

/**
 * A cache, by key, of values that are expensive to compute again. Several processes may use one cache at the same time.
 * It is bounded and drops the oldest entries first, so a reader must be able to work without any entry.
 */
export interface Cache {
  /**
   * Returns the values of the keys, in the order of the keys; undefined for a key without a value. A call may have at
   * most `cacheLimits.keys` keys.
   */
  read (keys: readonly string[]): Promise<(Uint8Array | undefined)[]>
  /**
   * Stores values. A key that has a value already keeps that value. A call may have at most `cacheLimits.keys` entries.
   * @throws Error for a key or a value above the limits; the call then stores nothing
   */
  write (entries: readonly (readonly [key: string, value: Uint8Array])[]): Promise<void>
}

export const cacheLimits = { entries: 65_536, keys: 1_000, key_characters: 200, value_bytes: 16_384 } as const

/** The process that holds a role, and a note for other processes (such as its URL). */
export interface Lease { owner: ProcessIdentity, note: string }
