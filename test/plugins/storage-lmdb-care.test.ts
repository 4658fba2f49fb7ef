import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, copyFile, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { isFinal, silentLogger, type HistoryCare, type Logger } from '../../kernel/index.ts'
import { care } from '../../plugins/storage-lmdb/care/care.ts'
import { Session } from '../../plugins/storage-lmdb/care/session.ts'
import { sequenceOf } from '../../plugins/storage-lmdb/file/keys.ts'
import lmdb, { fileName } from '../../plugins/storage-lmdb/index.ts'
import { makeStored } from '../../plugins/testing/executions.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

const program = fileURLToPath(new URL('../support/storage-process.js', import.meta.url))
const context = (data_dir: string): Parameters<HistoryCare['repair']>[0] =>
  ({ data_dir, log: silentLogger, signal: new AbortController().signal })

/** Makes a history with so many executions. @returns its data directory, and the ids */
async function makeHistory (t: Test, count: number): Promise<{ data_dir: string, ids: string[] }> {
  const data_dir = join(t.testdir(), 'data')
  await mkdir(data_dir, { mode: 0o700 })
  const { service, close } = await openPlugin(lmdb, { data_dir })
  const all = Array.from({ length: count }, (_, i) => makeStored({ output: 'x'.repeat(i % 20 === 0 ? 5_000 : 5) }))
  for (const stored of all) service.save(stored)
  await service.commit()
  await close()
  return { data_dir, ids: all.map(({ execution }) => execution.id) }
}

/** The ids in a history, the oldest first. */
async function idsIn (data_dir: string): Promise<string[]> {
  const { service, close } = await openPlugin(lmdb, { data_dir })
  const ids: string[] = []
  for (let more = true; more;) {
    const { executions, next_cursor } = await service.list({ limit: 500, offset: ids.length })
    ids.push(...executions.map(({ id }) => id))
    more = next_cursor !== undefined
  }
  await close()
  return ids.toReversed()
}

/** Writes garbage into the page that has a text. */
async function damage (data_dir: string, text: string): Promise<void> {
  const file = join(data_dir, fileName)
  const bytes = await readFile(file)
  const page = Math.floor(bytes.lastIndexOf(text) / 4_096) * 4_096
  await writeFile(file, bytes.fill(0xa5, page + 30, page + 90))
}

t.test('a backup is one moment of a history that another process writes to, and is a good history', async t => {
  const { data_dir } = await makeHistory(t, 50)
  const child = spawn(process.execPath, [program, 'write', data_dir, '1000000'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const exit = once(child, 'exit')
  const said: string[] = []
  const reading = (async () => { for await (const line of createInterface(child.stdout)) said.push(line) })()
  while (said.length < 5) await new Promise(resolve => setTimeout(resolve, 10))
  const before = [...said]
  const to = join(t.testdirName, 'copy')
  const backup = await care.backup(to, context(data_dir))
  child.kill('SIGKILL')
  await Promise.all([exit, reading])
  t.match(backup, { file: to, bytes: (await stat(to)).size })
  t.equal((await stat(to)).mode & 0o777, 0o600)
  const copied = join(t.testdirName, 'copied')
  t.equal((await care.restore(to, context(copied))).aside, null)
  const ids = await idsIn(copied)
  t.equal(ids.length, backup.executions)
  t.same(ids.slice(50, 50 + before.length), before, 'what was acknowledged before is in it')
  t.same((await readdir(t.testdirName)).sort(), ['copied', 'copy', 'data'], 'no temporary file is left')
  await t.rejects(care.backup(to, context(data_dir)), { message: `${to} is there already; name a file that is not` })
  await t.rejects(
    care.backup(join(t.testdirName, 'no', 'copy'), context(data_dir)),
    /the folder .*no is not there; make it first/
  )
  await t.rejects(care.backup(`${to}-2`, context(join(t.testdirName, 'empty'))), /there is no history in .*empty yet/)
})

t.test('a restored history has left its former processes; what was there is kept; nobody uses it meanwhile', async t => {
  const { data_dir } = await makeHistory(t, 3)
  const open = await openPlugin(lmdb, { data_dir })
  const unfinished = makeStored({ status: 'running' })
  open.service.save(unfinished)
  await open.service.claim('serve', { owner: { pid: process.pid, started: 'x' }, note: '' }, () => false)
  await open.service.commit()
  const copy = join(t.testdirName, 'copy')
  await care.backup(copy, context(data_dir))
  await t.rejects(
    care.restore(copy, context(data_dir)),
    new RegExp(`process ${process.pid} uses .*history.mdb; stop it first`)
  )
  await open.close()
  await t.rejects(
    care.restore(join(t.testdirName, 'nothing'), context(data_dir)),
    /nothing is not there; nothing was changed/
  )
  const cut = join(t.testdirName, 'cut')
  await writeFile(cut, (await readFile(copy)).subarray(0, 20_000))
  await t.rejects(care.restore(cut, context(data_dir)), {
    message: /cut is not a good history: .* Nothing was changed/
  })
  t.equal((await idsIn(data_dir)).length, 4)
  const { executions, aside } = await care.restore(copy, context(data_dir))
  t.equal(executions, 4)
  t.match(aside, /history\.mdb\.before-\d{8}T\d{6}Z$/)
  t.ok((await stat(String(aside))).size > 0)
  const { service, close } = await openPlugin(lmdb, { data_dir })
  t.equal(await service.holder('serve'), undefined)
  t.match(await service.unfinished(), [{ id: unfinished.execution.id, owner: { pid: 0 } }], 'a start will end it')
  await close()
})

t.test('a repair keeps what can be read, and says what is missing', async t => {
  const { data_dir, ids } = await makeHistory(t, 200)
  t.match(await care.repair(context(data_dir)), { damage: null, aside: null, kept: 200, lost: 0, gaps: [] })
  await damage(data_dir, `["${ids[101]}"`)
  await t.rejects(openPlugin(lmdb, { data_dir }), /history\.mdb is damaged: page \d+ of the table "executions" .*Save what can still be read with skillet doctor --repair/)
  await t.rejects(openPlugin(lmdb, { data_dir }), /is damaged: /, 'it stays refused')
  const { kept, lost, gaps, aside } = await care.repair(context(data_dir))
  t.ok(kept > 150 && kept < 200, `${kept} of 200`)
  t.equal(lost, 200 - kept)
  t.equal(gaps.reduce((sum, { executions }) => sum + executions, 0), lost)
  t.ok((await stat(String(aside))).size > 0)
  const found = await idsIn(data_dir)
  t.same(found, ids.filter(id => found.includes(id)), 'in their order')
  t.not(found.includes(ids[101] ?? ''), true)
  const { service, close } = await openPlugin(lmdb, { data_dir })
  const records = await Promise.all(found.map(id => service.get(id)))
  t.ok(records.every(
    record => record !== undefined && isFinal(record.execution.status) && record.execution.output.startsWith('xxxxx')
  ))
  await close()
})

t.test('the whole file is read after an end that was not in order, or a change by others, and only then', async t => {
  const { data_dir } = await makeHistory(t, 20)
  const file = join(data_dir, fileName)
  let checks = 0
  const log: Logger = { ...silentLogger, info (_fields, text) { if (text.includes('it was checked')) checks++ } }
  const open = async (): Promise<() => Promise<void>> => (await openPlugin(lmdb, { data_dir, log })).close
  await (await open())()
  t.equal(checks, 0, 'closed in order')
  const first = await open()
  await (await open())()
  await first()
  t.equal(checks, 0, 'another process has it open')
  const child = spawn(process.execPath, [program, 'write', data_dir, '1000000'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const exit = once(child, 'exit')
  child.stdout.once('data', () => { child.kill('SIGKILL') })
  await exit
  t.equal((await readdir(data_dir)).filter(name => name.includes('-open-')).length, 1)
  await (await open())()
  t.equal(checks, 1, 'a process was killed')
  await (await open())()
  t.equal(checks, 1)
  await utimes(file, new Date(), new Date(Date.now() + 5_000))
  await (await open())()
  t.equal(checks, 2, 'another program has written to it')
  const copied = join(t.testdirName, 'copied')
  await mkdir(copied, { mode: 0o700 })
  await copyFile(file, join(copied, fileName))
  await (await openPlugin(lmdb, { data_dir: copied, log })).close()
  t.equal(checks, 3, 'it was copied')
  await appendFile(file, 'more')
  t.match(await care.repair(context(data_dir)), { damage: null })
  await (await open())()
  t.equal(checks, 3, 'a repair has read it')
  t.same((await readdir(data_dir)).sort(), [fileName, `${fileName}-closed`, `${fileName}-lock`])
})

t.test('a file that takes too long to check is opened all the same, with a warning; damage that was found is not', async t => {
  const { data_dir } = await makeHistory(t, 200)
  const file = join(data_dir, fileName)
  const warnings: string[] = []
  const log: Logger = { ...silentLogger, warn (_fields, text) { warnings.push(text) } }
  await utimes(file, new Date(), new Date(Date.now() + 5_000))
  const { signal } = new AbortController()
  const session = await Session.begin(file, log, signal, 1)
  t.match(warnings, [/takes too long to check; `skillet doctor --repair`/])
  session.end()
  await t.rejects(Session.begin(file, log, AbortSignal.abort(new Error('stopped')), 1), /stopped/)
  await damage(data_dir, 'xxxxx')
  await t.rejects(Session.begin(file, log, signal), /skillet doctor --repair/)
})

t.test('the numbers of keys', t => {
  const key = (hex: string): number => sequenceOf(Buffer.from(hex, 'hex'))
  t.equal(key('13ff0000'), 1)
  t.equal(key('14000000'), 2)
  t.equal(key('14008000'), 3)
  t.same([key('40'), key('626f756e6473')].map(Number.isNaN), [true, true])
  t.end()
})
