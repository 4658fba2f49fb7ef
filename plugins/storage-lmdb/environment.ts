import { open, type Database, type RootDatabase } from 'lmdb'
import { messageOf } from '../../kernel/index.ts'
import { closeOnExec } from './close-on-exec.ts'
import { makeLockFile } from './lock-file.ts'

/** Only this file uses lmdb. Values are text or bytes: lmdb's msgpack loses `__proto__` keys and lone surrogates. */
export interface Environment {
  /** Absolute path of the file. */
  readonly file: string
  /** The keys `format`, and `bounds` (bounds.ts). */
  readonly meta: RootDatabase<string, string>
  /** Sequence number → row (rows.ts). */
  readonly executions: Database<string, number>
  /** Sequence number → the whole record, when it is too large for a row. */
  readonly details: Database<string, number>
  /** Execution id → sequence number. */
  readonly ids: Database<string, string>
  /** Chunk number → the values that filters compare (columns.ts). */
  readonly columns: Database<Uint8Array, number>
  /** Number → skill and tool, append only (names.ts). */
  readonly names: Database<string, number>
  /** Id of an unfinished execution → sequence number. */
  readonly unfinished: Database<string, string>
  /**
   * Sequence number of an unfinished execution that pruning skipped → its id. These numbers are below the first of the
   * dense numbers.
   */
  readonly aside: Database<string, number>
  /** Id of an unfinished execution with a request to cancel it → `1`. */
  readonly cancels: Database<string, string>
  /** Role → its lease. */
  readonly roles: Database<string, string>
  /** Key → data that plugins cache beside the executions. */
  readonly cache: Database<Uint8Array, string>
  /** Number → key of the cache, in the order in which the entries were added. */
  readonly cacheOrder: Database<string, number>
  /** Idempotency key → the execution for which it stands (keys.ts). */
  readonly keys: Database<string, string>
  /** Number → idempotency key, in the order in which the keys were added. */
  readonly keysOrder: Database<string, number>
  /**
   * Runs a function within a write transaction: all its writes become visible and durable together, or none.
   * Resolves when they are on disk. It waits for the lock, and commits, on a thread of lmdb's; the function
   * itself runs on the main thread and must be synchronous and short: other processes wait for it.
   */
  transact<T> (run: () => T): Promise<T>
  close (): Promise<void>
}

/** The number of readers of all processes together; a reader is a process, or a thread of a process. */
const readersMax = 512

/**
 * Opens the file, after `checkFile` has found it sound or new. `prepare` runs first, as soon as the root table is open.
 * May block for some seconds while another process holds a transaction.
 */
export async function openEnvironment (
  file: string,
  prepare: (meta: RootDatabase<string, string>, transact: Environment['transact']) => Promise<void>
): Promise<Environment> {
  const meta = openRoot(file)
  closeOnExec(file)
  const transact = async <T>(run: () => T): Promise<T> => {
    try {
      // A child transaction is rolled back when `run` throws; a plain transaction would commit the writes before the
      // error.
      return await meta.childTransaction(run)
    } catch (error) {
      throw await withCause(error)
    }
  }
  try {
    await prepare(meta, transact)
    return {
      file, meta, transact,
      ...openTables(meta),
      close: () => meta.close()
    }
  } catch (error) {
    await meta.close()
    throw error
  }
}

function openRoot (file: string): RootDatabase<string, string> {
  makeLockFile(file)
  return open<string, string>(options(file))
}

/** How the file is opened by all threads of the process, which share it. */
function options (file: string): Parameters<typeof open>[0] & { path: string } {
  return {
    path: file,
    noSubdir: true,
    encoding: 'string',
    maxDbs: 16,
    maxReaders: readersMax,
    permissionsMode: 0o600,
    // A commit resolves when LMDB's own commit returned: with this off, that is after fdatasync of the pages and
    // a write of the meta page through a descriptor opened with O_DSYNC (strace shows both before the promise
    // resolves). With it on, the promise resolves before the flush, and the file has a third, half-page meta page.
    overlappingSync: false,
    // With it on, lmdb makes a promise for each batch that no code can reach; when a commit fails, this promise is an
    // unhandled rejection and ends the process. With it off, only `commitError` is left: see `transact`.
    eventTurnBatching: false
  } as Parameters<typeof open>[0] & { path: string } // lmdb reads permissionsMode and maxReaders; its types lack them
}

/**
 * Reads every entry of a file with LMDB, and changes nothing but the lock file. A damaged file can end the process by a
 * signal, so only a separate process may call this.
 * @returns the number of entries
 */
export async function readThrough (file: string): Promise<number> {
  const root = openToRead(file)
  try {
    let entries = 0
    for (const name of tableNames) {
      // `openDB` returns undefined for a table that does not exist; lmdb's types lack that.
      const table: Table | undefined = root.openDB<Uint8Array, Uint8Array>({
        name, encoding: 'binary', keyEncoding: 'binary'
      })
      for (const { value } of table?.getRange({}) ?? []) entries += value.length > 0 ? 1 : 0
    }
    return entries
  } finally {
    await root.close()
  }
}

type Table = Database<Uint8Array, Uint8Array>

/**
 * Writes a consistent copy of a file, without its free pages, even while other processes write to the file.
 * @param to the path of the copy; no file may exist there
 */
export async function copyEnvironment (file: string, to: string): Promise<void> {
  const root = openToRead(file)
  try {
    await root.backup(to, true)
  } finally {
    await root.close()
  }
}

function openToRead (file: string): RootDatabase<Uint8Array, string> {
  makeLockFile(file)
  return open<Uint8Array, string>({
    path: file, noSubdir: true, readOnly: true, encoding: 'binary',
    maxDbs: 16, maxReaders: readersMax, permissionsMode: 0o600
  } as Parameters<typeof open>[0]) // as in `openRoot`
}

/** What a thread of this process reads of a file that is open. */
export interface Rows extends Pick<Environment, 'file' | 'meta' | 'executions' | 'details' | 'close'> {
  /** Lets the next reads see what was committed meanwhile. */
  refresh (): void
}

/** Opens the tables of records to read them in a thread, while the process has the file open. */
export function openRows (file: string): Rows {
  const meta = open<string, string>({ ...options(file), readOnly: true })
  return {
    file, meta,
    executions: meta.openDB<string, number>({ name: 'executions', encoding: 'string' }),
    details: meta.openDB<string, number>({ name: 'details', encoding: 'string' }),
    refresh: () => { meta.resetReadTxn() },
    close: () => meta.close()
  }
}

const tableNames = [
  'executions', 'details', 'ids', 'columns', 'names', 'unfinished', 'aside', 'cancels', 'roles', 'cache', 'cache_order',
  'keys', 'keys_order'
] as const

/** Opens the tables, or creates them. */
function openTables (meta: RootDatabase<string, string>): Omit<Environment, 'file' | 'meta' | 'transact' | 'close'> {
  return {
    executions: meta.openDB<string, number>({ name: 'executions', encoding: 'string' }),
    details: meta.openDB<string, number>({ name: 'details', encoding: 'string' }),
    ids: meta.openDB<string, string>({ name: 'ids', encoding: 'string' }),
    columns: meta.openDB<Uint8Array, number>({ name: 'columns', encoding: 'binary' }),
    names: meta.openDB<string, number>({ name: 'names', encoding: 'string' }),
    unfinished: meta.openDB<string, string>({ name: 'unfinished', encoding: 'string' }),
    aside: meta.openDB<string, number>({ name: 'aside', encoding: 'string' }),
    cancels: meta.openDB<string, string>({ name: 'cancels', encoding: 'string' }),
    roles: meta.openDB<string, string>({ name: 'roles', encoding: 'string' }),
    cache: meta.openDB<Uint8Array, string>({ name: 'cache', encoding: 'binary' }),
    cacheOrder: meta.openDB<string, number>({ name: 'cache_order', encoding: 'string' }),
    keys: meta.openDB<string, string>({ name: 'keys', encoding: 'string' }),
    keysOrder: meta.openDB<string, number>({ name: 'keys_order', encoding: 'string' })
  }
}

/**
 * Writes a value unless its key exists already. Within a transaction.
 * @returns whether the value was written
 */
export function putNew<K extends string | number, V> (database: Database<V, K>, key: K, value: V): boolean {
  const written: unknown = database.putSync(key, value, { noOverwrite: true }) // lmdb's types lack the return value
  return written === true
}

/** Some of the fields that `getStats` returns; lmdb's types lack them. */
interface PageCounts {
  pageSize: number, treeBranchPageCount: number, treeLeafPageCount: number, overflowPages: number, entryCount: number
}

/** The number of entries of a table. LMDB keeps it, so nothing is counted. */
export function entriesIn (database: Database<unknown, string | number>): number {
  return (database.getStats() as PageCounts).entryCount
}

/**
 * The bytes of the pages that tables use, as seen outside or inside the transaction. It reads a few numbers of each
 * table, whatever the size of the table.
 */
export function bytesUsed (databases: readonly Database<unknown, string | number>[]): number {
  let bytes = 0
  for (const database of databases) {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = database.getStats() as PageCounts
    bytes += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
  }
  return bytes
}

/** The time in which lmdb must report why a commit failed, in milliseconds. It reports in the same turn. */
const cause_ms = 1_000

/**
 * When a commit fails, its promise is rejected with an error that carries another promise, `commitError`, which lmdb
 * rejects with the cause. Without a handler on `commitError`, the process would end.
 */
async function withCause (thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Error && 'commitError' in thrown && thrown.commitError instanceof Promise)) return thrown
  let timer
  const cause: unknown = await Promise.race([
    thrown.commitError.catch((cause: unknown) => cause),
    new Promise(resolve => { timer = setTimeout(resolve, cause_ms) })
  ])
  clearTimeout(timer)
  return new Error(cause === undefined ? thrown.message : messageOf(cause), { cause: thrown })
}
