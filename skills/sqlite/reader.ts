import { readFileSync, writeSync } from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { functions, modules, pragmas, pragmasWithoutValue } from './policy.ts'
import { answerMax, life_ms, memoryBytesMax, type Request } from './protocol.ts'
import { linesOf, rowsOf } from './rows.ts'

/**
 * A process that runs one query and ends: SQLite can't be interrupted here, so what takes too long is ended from
 * outside, and a damaged or hostile database harms nothing else. A thread of it looks whether anybody still waits.
 */

/** The most that SQLite itself may hold, and the longest text or blob, in bytes. */
const heapBytesMax = 536_870_912
const valueBytesMax = 268_435_456
/** How long a database that another process holds is waited for. */
const busy_ms = 5_000
const look_ms = 200

if (isMainThread) {
  new Worker(new URL(import.meta.url)).unref()
  try {
    writeAll(1, await answer(JSON.parse(readFileSync(0, 'utf8')) as Request)) // the parent wrote it
  } catch (error) {
    writeAll(2, error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
} else {
  const parent = process.ppid
  const end = (): void => { process.kill(process.pid, 'SIGKILL') }
  setTimeout(end, life_ms)
  setInterval(() => { if (process.ppid !== parent || process.memoryUsage.rss() > memoryBytesMax) end() }, look_ms)
}

async function answer ({ database, sql, values, format }: Request): Promise<string> {
  const sqlite = await import('@photostructure/sqlite').catch((error: unknown) => {
    throw new Error('the package @photostructure/sqlite, which reads databases, is not installed or not for this system', { cause: error })
  })
  const db = new sqlite.DatabaseSync(database, {
    readOnly: true, allowExtension: false, defensive: true, enableDoubleQuotedStringLiterals: true, timeout: busy_ms,
    limits: { attach: 0, length: valueBytesMax }
  })
  try {
    // What stands in the schema is not trusted: a view can't call what could do harm.
    db.exec(`PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA hard_heap_limit = ${heapBytesMax}`)
    const refusal = guard(db, sqlite.constants)
    try {
      const statement = db.prepare(sql, { expandedSQL: true })
      if (values.length === 0) refuseMore(db, sql, statement)
      return (format === 'rows' ? rowsOf : linesOf)(statement, values, answerMax)
    } catch (error) {
      throw refusal() ?? error
    }
  } finally {
    db.close()
  }
}

/**
 * Lets SQLite ask for everything that a statement is to do before it does it.
 * @returns what tells what was refused first
 */
function guard (
  db: DatabaseSyncInstance,
  codes: typeof import('@photostructure/sqlite').constants
): () => Error | undefined {
  const unknown = db.prepare('SELECT name FROM pragma_module_list')
    .all()
    .map(row => String(Reflect.get(Object(row), 'name')))
    .find(name => !name.startsWith('pragma_') && !modules.has(name))
  if (unknown !== undefined) {
    throw new Error(`this SQLite has virtual tables "${unknown}", of which is not known what they read`)
  }
  const {
    SQLITE_READ, SQLITE_SELECT, SQLITE_RECURSIVE, SQLITE_FUNCTION, SQLITE_PRAGMA, SQLITE_INSERT, SQLITE_UPDATE,
    SQLITE_DELETE
  } = codes
  const plain = new Set([SQLITE_READ, SQLITE_SELECT, SQLITE_RECURSIVE])
  // Full-text and R-tree tables prepare their changes before they are read. The file is open for reading alone.
  const changes = new Set([SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE])
  let refused: string | undefined
  const refuse = (what: string): number => {
    refused ??= what
    return codes.SQLITE_DENY
  }
  db.setAuthorizer((action, first, second, database) => {
    if (plain.has(action) || (changes.has(action) && database === 'main')) return codes.SQLITE_OK
    if (action === SQLITE_FUNCTION) {
      return functions.has(String(second).toLowerCase())
        ? codes.SQLITE_OK
        : refuse(`the function ${second}() is not among those that may be used`)
    }
    if (action === SQLITE_PRAGMA) {
      const name = String(first).toLowerCase()
      return pragmas.has(name) || (second === null && pragmasWithoutValue.has(name))
        ? codes.SQLITE_OK
        : refuse(`PRAGMA ${name} is not among those that may be used${pragmasWithoutValue.has(name) ? ' with a value' : ''}`)
    }
    return refuse('the statement does something else than reading, which is not allowed')
  })
  return () => refused === undefined ? undefined : new Error(refused)
}

/** SQLite would run the first statement, and say nothing of others. */
function refuseMore (db: DatabaseSyncInstance, sql: string, statement: StatementSyncInstance): void {
  const first = statement.expandedSQL ?? ''
  if (!sql.startsWith(first)) throw new Error('the query has parameters, such as ?; write values in their place')
  const rest = sql.slice(first.length)
  if (rest.trim() !== '' && !isEmpty(db, rest)) {
    throw new Error('the query holds more than one statement; give one at a time')
  }
}

/** Whether there are only comments. */
function isEmpty (db: DatabaseSyncInstance, sql: string): boolean {
  try {
    return db.prepare(sql, { expandedSQL: true }).expandedSQL === undefined
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
  }
}

function writeAll (descriptor: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}
