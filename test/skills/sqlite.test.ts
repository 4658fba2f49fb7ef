import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startBundled } from '../support/bundled.ts'

const folder = t.testdir({})
const database = join(folder, 'shop.db')
execFileSync('sqlite3', [database, 'CREATE TABLE "odd name" (id INTEGER PRIMARY KEY, total REAL NOT NULL DEFAULT 0); INSERT INTO "odd name" VALUES (1, 9.5), (2, 20); CREATE VIEW large AS SELECT * FROM "odd name" WHERE total > 10'])
const { call, json, close } = await startBundled()
t.teardown(close)

const digest = (): string => createHash('sha256').update(readFileSync(database)).digest('hex')
const query = (sql: string): Promise<string> => call('sqlite', 'query', { database, sql })

t.test('reading', async t => {
  t.same(await json('sqlite', 'tables', { database }), [{ name: 'large', type: 'view' }, { name: 'odd name', type: 'table' }])
  t.match(await json('sqlite', 'columns', { database, table: 'odd name' }), [{ name: 'id', type: 'INTEGER', primary_key: 1 }, { name: 'total', not_null: 1, default_value: '0' }])
  t.match(await call('sqlite', 'schema', { database }), /CREATE TABLE "odd name".*;\n/)
  t.same(await json('sqlite', 'sample', { database, table: 'odd name', count: 1 }), [{ id: 1, total: 9.5 }])
  t.same(JSON.parse(await query('WITH x AS (SELECT total FROM large) SELECT max(total) AS top FROM x')), [{ top: 20 }])
  t.equal(await query('SELECT * FROM large WHERE 0'), '')
})

t.test('nothing is written, loaded or run, whatever the query', async t => {
  const before = digest()
  const elsewhere = join(folder, 'elsewhere')
  for (const sql of [
    'DELETE FROM "odd name"', 'INSERT INTO "odd name" VALUES (3, 1)', 'CREATE TABLE x (y)', 'DROP VIEW large', 'PRAGMA user_version = 7', 'SELECT 1; DELETE FROM "odd name"',
    `ATTACH '${elsewhere}' AS e`, `VACUUM INTO '${elsewhere}'`, `SELECT writefile('${elsewhere}', 'x')`, 'SELECT readfile(\'/etc/passwd\')', 'SELECT load_extension(\'x\')', 'SELECT edit(\'x\')'
  ]) await t.rejects(query(sql), { code: 'TOOL_EXECUTION_FAILED' }, sql)
  for (const sql of [`.output ${elsewhere}`, `.shell touch ${elsewhere}`, ' .tables', '-cmd', '']) await t.rejects(query(sql), { code: 'INVALID_PARAMETERS' }, sql)
  for (const sql of [`SELECT 1;\n.shell touch ${elsewhere}`, `SELECT 1\n.output ${elsewhere}`]) await query(sql).catch(() => '')
  t.equal(digest(), before)
  t.same(readdirSync(folder), ['shop.db'])
})

t.test('bad input', async t => {
  await t.rejects(call('sqlite', 'tables', { database: join(folder, 'nothing.db') }), { message: /unable to open database/ })
  writeFileSync(join(folder, 'text.db'), 'not a database, but a text that is long enough to look at'.repeat(20))
  await t.rejects(call('sqlite', 'tables', { database: join(folder, 'text.db') }), { message: /not a database/ })
  for (const name of [`file:${database}?mode=rwc`, ':memory:']) await t.rejects(call('sqlite', 'tables', { database: name }), { code: 'INVALID_PARAMETERS' })
  await t.rejects(call('sqlite', 'tables', { database: '-cmd' }), { code: /INVALID_PARAMETERS|TOOL_EXECUTION_FAILED/ })
  t.match(await query('SELECT id FROM nowhere').catch((error: unknown) => error), { details: { stderr: /no such table: nowhere/ } })
  for (const table of ['x\') --', 'x" --']) {
    await t.rejects(call('sqlite', 'columns', { database, table }), { code: 'INVALID_PARAMETERS' })
    await t.rejects(call('sqlite', 'sample', { database, table }), { code: 'INVALID_PARAMETERS' })
  }
  await t.rejects(call('sqlite', 'sample', { database, table: 'large', count: 0 }), { code: 'INVALID_PARAMETERS' })
})
