import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startBundled } from '../support/bundled.ts'
import { until } from '../../plugins/testing/until.ts'

const folder = t.testdir({})
const database = join(folder, 'shop.db')
execFileSync('sqlite3', [database, 'CREATE TABLE "odd name" (id INTEGER PRIMARY KEY, total REAL NOT NULL DEFAULT 0); INSERT INTO "odd name" VALUES (1, 9.5), (2, 20); CREATE VIEW large AS SELECT * FROM "odd name" WHERE total > 10'])
const { call, json, close } = await startBundled()
t.teardown(close)

const digest = (): string => createHash('sha256').update(readFileSync(database)).digest('hex')
const query = (sql: string): Promise<string> => call('sqlite', 'query', { database, sql })

t.test('reading', async t => {
  t.same(await json('sqlite', 'tables', { database }), [
    { name: 'large', type: 'view' },
    { name: 'odd name', type: 'table' }
  ])
  t.match(await json('sqlite', 'columns', { database, table: 'odd name' }), [
    { name: 'id', type: 'INTEGER', primary_key: 1 },
    { name: 'total', not_null: 1, default_value: '0' }
  ])
  t.match(await call('sqlite', 'schema', { database }), /CREATE TABLE "odd name".*;\n/)
  t.same(await json('sqlite', 'sample', { database, table: 'odd name', count: 1 }), [{ id: 1, total: 9.5 }])
  t.same(JSON.parse(await query('WITH x AS (SELECT total FROM large) SELECT max(total) AS top FROM x')), [{ top: 20 }])
  t.equal(await query('SELECT * FROM large WHERE 0'), '')
})

t.test('nothing is written, loaded or run, whatever the query', async t => {
  const before = digest()
  const elsewhere = join(folder, 'elsewhere')
  for (const sql of [
    'DELETE FROM "odd name"', 'INSERT INTO "odd name" VALUES (3, 1)', 'CREATE TABLE x (y)', 'CREATE TEMP TABLE x (y)',
    'DROP VIEW large', 'PRAGMA user_version = 7', 'SELECT 1; DELETE FROM "odd name"',
    `ATTACH '${elsewhere}' AS e`, `ATTACH '${database}' AS e`, 'DETACH main', `VACUUM INTO '${elsewhere}'`, 'VACUUM',
    'ANALYZE', 'BEGIN', 'SAVEPOINT x',
    `SELECT writefile('${elsewhere}', 'x')`, 'SELECT load_extension(\'x\')', 'SELECT edit(\'x\')',
    'SELECT fts3_tokenizer(\'simple\')', 'SELECT sqlite_log(1, 2)', 'SELECT optimize(1)',
    'PRAGMA writable_schema = 1', 'PRAGMA trusted_schema = 1', 'PRAGMA query_only = 0',
    `PRAGMA temp_store_directory = '${folder}'`, `PRAGMA data_store_directory = '${folder}'`,
    'PRAGMA journal_mode = WAL',
    'PRAGMA wal_checkpoint', 'PRAGMA hard_heap_limit = 0', 'PRAGMA mmap_size = 1000000', 'PRAGMA nonsense',
    'CREATE VIRTUAL TABLE temp.x USING fts5(y)'
  ]) await t.rejects(query(sql), { code: 'TOOL_EXECUTION_FAILED' }, sql)
  for (const sql of [`.output ${elsewhere}`, `.shell touch ${elsewhere}`, ' .tables', '-cmd', '', 'SELECT 1\0']) {
    await t.rejects(query(sql), { code: 'INVALID_PARAMETERS' }, sql)
  }
  for (const sql of [`SELECT 1;\n.shell touch ${elsewhere}`, `SELECT 1\n.output ${elsewhere}`]) {
    await t.rejects(query(sql), { code: 'TOOL_EXECUTION_FAILED' }, sql)
  }
  t.equal(digest(), before)
  t.same(readdirSync(folder), ['shop.db'])
})

t.test('no file is read but the database, whatever the query', async t => {
  const secret = join(folder, 'secret.txt')
  writeFileSync(secret, 'canary')
  t.teardown(() => { rmSync(secret) })
  const zip = join(folder, 'secret.zip')
  execFileSync('sqlite3', [':memory:', `SELECT writefile('${zip}', (SELECT zipfile('secret.txt', 'canary')))`])
  t.teardown(() => { rmSync(zip) })
  for (const sql of [
    `SELECT readfile('${secret}')`, `SELECT * FROM fsdir('${secret}')`,
    `SELECT data FROM fsdir('${secret}') AS innocent`, `SELECT count(*) FROM main.fsdir WHERE path = '${secret}'`,
    `SELECT * FROM zipfile('${zip}')`, `WITH x AS (SELECT * FROM fsdir('${secret}')) SELECT * FROM x`,
    `SELECT (SELECT data FROM "fsdir"('${secret}'))`, `SELECT 1 /* */ FROM/**/fsdir('${secret}')`,
    `EXPLAIN SELECT * FROM fsdir('${secret}')`, `SELECT * FROM json_each('[1]'), fsdir('${secret}')`,
    'SELECT * FROM sqlite_dbpage', 'SELECT * FROM sqlite_stmt', 'SELECT * FROM completion(\'x\')',
    `SELECT * FROM csv('${secret}')`, `SELECT * FROM pragma_database_list, [fsdir]('${secret}')`
  ]) {
    const answer = await query(sql).catch((error: unknown) => JSON.stringify(error) + String(error))
    t.match(answer, /no such (?:table|function)|is not among those that may be used/, sql)
    t.notMatch(answer, /canary/)
  }
})

t.test('a hostile database file reads and runs nothing either', async t => {
  const hostile = join(folder, 'hostile.db')
  t.teardown(() => { rmSync(hostile) })
  execFileSync('sqlite3', [hostile], { input: `
    CREATE TABLE plain (a);
    INSERT INTO plain VALUES (1);
    CREATE VIEW files AS SELECT data FROM fsdir('/etc/passwd');
    CREATE VIEW reads AS SELECT readfile('/etc/passwd') AS data;
    CREATE VIEW loads AS SELECT load_extension('/tmp/x.so') AS data;
    CREATE VIEW tokenizer AS SELECT fts3_tokenizer('x', 'y') AS data;
    CREATE VIRTUAL TABLE packed USING zipfile('/etc/passwd');
    CREATE VIRTUAL TABLE words USING fts5(body, content='files');
    CREATE TRIGGER fires AFTER INSERT ON plain BEGIN SELECT writefile('/tmp/x', 'x'); END;
  ` })
  for (const name of ['files', 'reads', 'loads', 'tokenizer', 'packed', 'words']) {
    const answer = await call('sqlite', 'sample', { database: hostile, table: name })
      .catch((error: unknown) => String(error))
    t.match(answer, /Error/, name)
    t.notMatch(answer, /root:/, name)
  }
  t.same(await json('sqlite', 'sample', { database: hostile, table: 'plain' }), [{ a: 1 }], 'what does nothing is read')
  t.match(await call('sqlite', 'schema', { database: hostile }), /CREATE VIEW files/)
  const forged = join(folder, 'forged.db')
  t.teardown(() => { rmSync(forged) })
  execFileSync('sqlite3', [forged, "CREATE TABLE t (a, b); INSERT INTO t (a) VALUES ('/tmp/x.so'); PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a, b AS (load_extension(a)))'"])
  await t.rejects(
    call('sqlite', 'sample', { database: forged, table: 't' }), { code: 'TOOL_EXECUTION_FAILED' }, 'a generated column'
  )
})

t.test('only files within the roots are read, and none of Skillet\'s own', async t => {
  const apart = mkdtempSync(join(tmpdir(), 'skillet-sqlite-'))
  t.teardown(() => { rmSync(apart, { recursive: true }) })
  copyFileSync(database, join(apart, 'other.db'))
  symlinkSync(join(apart, 'other.db'), join(folder, 'link.db'))
  t.teardown(() => { rmSync(join(folder, 'link.db')) })
  for (const path of [
    join(apart, 'other.db'), join(folder, 'link.db'), `../../../../..${join(apart, 'other.db')}`, '/etc/passwd',
    `/proc/self/root${apart}/other.db`
  ]) {
    await t.rejects(
      call('sqlite', 'tables', { database: path }), { message: /outside the folders that may be looked into/ }, path
    )
  }
  await t.rejects(call('sqlite', 'tables', { database: folder }), { message: /is not a regular file/ })
})

t.test('values are kept as they are', async t => {
  t.equal(
    await query("SELECT 9007199254740993 AS a, 2.0 AS b, x'0a0b' AS c, 1e999 AS d, NULL AS e, 'é\"' AS f, 1 AS a"),
    `[{"a":9007199254740993,"b":2.0,"c":"X'0a0b'","d":9.0e+999,"e":null,"f":"é\\"","a:1":1}]\n`
  )
  t.same(JSON.parse(await query("SELECT count(*) AS n, group_concat(value, ';') AS v FROM json_each('[1, 2]'); -- and a comment")), [
    { n: 2, v: '1;2' }
  ])
  t.same(JSON.parse(await query("SELECT sum(value) AS s FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c LIMIT 10) SELECT value FROM c)")), [{ s: 55 }])
  t.match(await query('EXPLAIN QUERY PLAN SELECT * FROM large'), /SCAN/)
  t.match(await query('PRAGMA table_info("odd name")'), /total/)
  await t.rejects(query('SELECT ?'), { message: /has parameters/ })
  await t.rejects(query('SELECT 1; SELECT 2'), { message: /more than one statement/ })
})

t.test('full text and R-trees are read', async t => {
  const indexed = join(folder, 'indexed.db')
  t.teardown(() => { rmSync(indexed) })
  execFileSync('sqlite3', [indexed, "CREATE VIRTUAL TABLE notes USING fts5(body); INSERT INTO notes VALUES ('buy milk'), ('pay rent'); CREATE VIRTUAL TABLE boxes USING rtree(id, a, b); INSERT INTO boxes VALUES (1, 0, 2); CREATE VIRTUAL TABLE old USING fts4(body); INSERT INTO old VALUES ('old milk')"])
  const ask = async (sql: string): Promise<unknown> =>
    JSON.parse(await call('sqlite', 'query', { database: indexed, sql })) as unknown
  t.same(await ask("SELECT highlight(notes, 0, '[', ']') AS h FROM notes WHERE notes MATCH 'milk'"), [
    { h: 'buy [milk]' }
  ])
  t.same(await ask('SELECT id FROM boxes WHERE a < 1'), [{ id: 1 }])
  t.same(await ask("SELECT snippet(old) AS s FROM old WHERE old MATCH 'milk'"), [{ s: 'old <b>milk</b>' }])
})

t.test('a database that others write to, in WAL mode or locked', async t => {
  const live = join(folder, 'live.db')
  t.teardown(() => { for (const end of ['', '-wal', '-shm']) rmSync(live + end, { force: true }) })
  const writer = spawn('sqlite3', [live], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(() => writer.kill('SIGKILL'))
  const say = async (sql: string): Promise<void> => {
    writer.stdin.write(`${sql};\nSELECT 'done';\n`)
    for await (const text of writer.stdout.iterator({ destroyOnReturn: false })) {
      if (String(text).includes('done')) return
    }
  }
  await say('PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)')
  const ask = async (): Promise<unknown> =>
    JSON.parse(await call('sqlite', 'query', { database: live, sql: 'SELECT a FROM t' })) as unknown
  t.same(await ask(), [{ a: 1 }], 'what is in the WAL alone is seen')
  await say('BEGIN IMMEDIATE; INSERT INTO t VALUES (2)')
  t.same(await ask(), [{ a: 1 }], 'a writer does not keep readers away')
  await say('COMMIT')
  t.same(await ask(), [{ a: 1 }, { a: 2 }])
  await say('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  await t.rejects(ask(), { message: /database is locked/ })
})

t.test('huge answers, endless queries and greedy ones end', async t => {
  const many = await query('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c')
  t.match(many, /\(cut after \d+ rows; use LIMIT and OFFSET, or fewer columns\)\n$/)
  t.ok(many.length < 1_048_576)
  await t.rejects(query('SELECT zeroblob(1000000000)'), { message: /too big/ })
  await t.rejects(query('SELECT hex(zeroblob(200000000))'), { message: /too big|out of memory|too much memory/ })
  await t.rejects(query(`SELECT ${'('.repeat(9000)}1${')'.repeat(9000)}`), { code: 'TOOL_EXECUTION_FAILED' })
  const stopped = new AbortController()
  const endless = call(
    'sqlite',
    'query',
    { database, sql: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c' },
    stopped.signal
  )
  await until(() => readers().length > 0)
  stopped.abort()
  await t.rejects(endless, { code: 'CANCELLED' })
  await until(() => readers().length === 0)
})

/** Processes that read databases for this one. */
function readers (): string[] {
  return execFileSync('ps', ['-o', 'ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter(line => line.trim().startsWith(`${process.pid} `) && line.includes('sqlite/reader.js'))
}

t.test('bad input', async t => {
  await t.rejects(call('sqlite', 'tables', { database: join(folder, 'nothing.db') }), { message: /does not exist/ })
  writeFileSync(join(folder, 'text.db'), 'not a database, but a text that is long enough to look at'.repeat(20))
  await t.rejects(call('sqlite', 'tables', { database: join(folder, 'text.db') }), { message: /not a database/ })
  for (const name of [`file:${database}?mode=rwc`, ':memory:']) {
    await t.rejects(call('sqlite', 'tables', { database: name }), { code: 'INVALID_PARAMETERS' })
  }
  await t.rejects(call('sqlite', 'tables', { database: '-cmd' }), { code: /INVALID_PARAMETERS|TOOL_EXECUTION_FAILED/ })
  await t.rejects(query('SELECT id FROM nowhere'), { message: /no such table: nowhere/ })
  for (const table of ['x\') --', 'x" --']) {
    await t.rejects(call('sqlite', 'columns', { database, table }), { code: 'INVALID_PARAMETERS' })
    await t.rejects(call('sqlite', 'sample', { database, table }), { code: 'INVALID_PARAMETERS' })
  }
  await t.rejects(call('sqlite', 'sample', { database, table: 'large', count: 0 }), { code: 'INVALID_PARAMETERS' })
})
