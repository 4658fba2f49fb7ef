import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { ExecutionSummary, Storage, StoredExecution } from '../../kernel/index.ts'
import { checkFile } from '../../plugins/storage-lmdb/check-file.ts'
import { checkWhole } from '../../plugins/storage-lmdb/file/check.ts'
import { openEnvironment } from '../../plugins/storage-lmdb/environment.ts'
import lmdb, { fileName } from '../../plugins/storage-lmdb/index.ts'
import { Names } from '../../plugins/storage-lmdb/names.ts'
import { testStorage } from '../conformance/storage.ts'
import { makeStored } from '../../plugins/testing/executions.ts'
import { openHistoryFile as openFile } from '../support/history-file.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'

const day_ms = 86_400_000

testStorage('storage-lmdb', storage => openPlugin(lmdb, { config: { storage: storage ?? {} } }), ({ data_dir }) =>
  openPlugin(lmdb, { data_dir }))

t.test('what was committed is there after reopening, and nobody else may read it', async t => {
  const data_dir = join(t.testdir(), 'data')
  const stored = [makeStored(), makeStored({ status: 'running', output: 'é'.repeat(10_000) })]
  const first = await openPlugin(lmdb, { data_dir })
  for (const each of stored) first.service.save(each)
  await first.service.requestCancel(stored[1]?.execution.id ?? '')
  first.service.save(makeStored()) // closing commits what waits
  await first.close()
  const { service, close } = await openPlugin(lmdb, { data_dir })
  for (const each of stored) t.strictSame(await service.get(each.execution.id), each)
  t.equal((await service.list({ limit: 1, offset: 0 })).total, 3)
  t.strictSame(await service.unfinished(), [{ id: stored[1]?.execution.id, owner: stored[1]?.owner }])
  t.strictSame(service.cancelRequests(), [stored[1]?.execution.id])
  await close()
  const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777
  t.strictSame(
    [await mode(data_dir), await mode(join(data_dir, fileName)), await mode(join(data_dir, `${fileName}-lock`))],
    [0o700, 0o600, 0o600]
  )
})

t.test('a history of format 1 is read, added to, and pruned', async t => {
  const data_dir = t.testdir()
  const old = [
    makeStored(),
    makeStored({
      status: 'failed',
      output: 'x'.repeat(10_000),
      error: { code: 'TIMEOUT', message: 'late', details: { timeout_ms: 1 } }
    }),
    makeStored()
  ]
  const first = await openPlugin(lmdb, { data_dir })
  for (const each of old) first.service.save(each)
  await first.close()
  const env = await openFile(data_dir)
  await env.transact(() => { // as it was written by format 1, before there were named keys
    env.meta.putSync('format', '1')
    old.forEach(({ execution, owner }, index) => {
      const { id, skill_name, tool_name, status, created_at, duration_ms } = execution
      const text = JSON.stringify({ execution: { ...execution, key: undefined }, owner })
      const large = text.length > 2_000
      env.executions.putSync(index + 1, large
        ? JSON.stringify({ summary: { id, skill_name, tool_name, status, created_at, duration_ms }, owner })
        : text)
      if (large) env.details.putSync(index + 1, text)
    })
  })
  await env.close()
  const { service, close } = await openPlugin(lmdb, { data_dir, config: { storage: { history_executions_max: 3 } } })
  for (const each of old) t.strictSame(await service.get(each.execution.id), each)
  const shown = (
    { execution: { id, skill_name, tool_name, status, created_at, duration_ms } }: StoredExecution
  ): ExecutionSummary => ({ id, skill_name, tool_name, status, created_at, duration_ms })
  t.strictSame((await service.list({ limit: 3, offset: 0 })).executions, old.map(shown).toReversed())
  const added = [makeStored(), makeStored()]
  for (const each of added) service.save(each)
  await service.commit()
  t.strictSame(
    (await service.list({ limit: 9, offset: 0 })).executions.map(({ id }) => id),
    [added[1], added[0], old[2]].map(each => each?.execution.id)
  )
  t.strictSame(await service.get(old[1]?.execution.id ?? ''), undefined)
  await close()
  const after = await openFile(data_dir)
  t.strictSame([after.executions, after.ids, after.details].map(db => db.getCount()), [3, 3, 0])
  await after.close()
})

t.test('a history of format 2 is read, added to, and pruned beside what has not ended', async t => {
  const data_dir = t.testdir()
  const old = [makeStored(), makeStored({ status: 'running', output: 'x'.repeat(5_000) }), makeStored(), makeStored()]
  const first = await openPlugin(lmdb, { data_dir })
  for (const each of old) first.service.save(each)
  await first.close()
  const env = await openFile(data_dir)
  await env.transact(() => { // as it was written by format 2
    env.meta.putSync('format', '2')
    env.meta.putSync('bounds', '1 4')
  })
  await env.close()
  const { service, close } = await openPlugin(lmdb, { data_dir, config: { storage: { history_executions_max: 2 } } })
  for (const each of old) t.strictSame(await service.get(each.execution.id), each)
  const added = makeStored()
  service.save(added)
  t.strictSame(
    (await service.list({ limit: 9, offset: 0 })).executions.map(({ id }) => id),
    [added, old[3], old[1]].map(each => each?.execution.id)
  )
  await close()
  const after = await openFile(data_dir)
  t.strictSame([after.meta.get('format'), after.meta.get('bounds')], ['5', '4 5 1'])
  t.strictSame([after.executions, after.ids, after.details, after.aside].map(db => db.getCount()), [3, 3, 1, 1])
  await after.close()
})

t.test('columns of format 3 are read, checked and added to, with the durations of the rows', async t => {
  const data_dir = t.testdir()
  const old = [3, 70_000, 0].map(duration_ms => makeStored({ duration_ms }))
  const first = await openPlugin(lmdb, { data_dir })
  for (const each of old) first.service.save(each)
  await first.close()
  const env = await openFile(data_dir)
  await env.transact(() => { // as it was written by format 3, without durations
    env.meta.putSync('format', '3')
    env.columns.putSync(0, (env.columns.get(0) ?? new Uint8Array()).slice(0, 11 * 256))
  })
  await env.close()
  const file = join(data_dir, fileName)
  t.match(await checkWhole(file), { executions: 3 })
  const durations = async (service: Storage): Promise<number[]> => {
    const found: number[] = []
    await service.visit({}, () => (_status, _created_ms, duration_ms) => { found.push(duration_ms) })
    return found.toSorted((a, b) => a - b)
  }
  const { service, close } = await openPlugin(lmdb, { data_dir })
  t.teardown(close)
  t.strictSame(await durations(service), [0, 3, 70_000])
  service.save(makeStored({ duration_ms: 12 }))
  await service.commit()
  t.strictSame(await durations(service), [0, 3, 12, 70_000], 'the chunk has both kinds now')
})

t.test('what was set aside leaves nothing when it has ended, in whatever process', async t => {
  const { service, data_dir, close } = await openPlugin(lmdb, { config: { storage: { history_executions_max: 1 } } })
  const beside = await openPlugin(lmdb, { data_dir })
  const running = [1, 2, 3].map(() => makeStored({ status: 'running', output: 'x'.repeat(5_000) }))
  const end = async (storage: typeof service, index: number): Promise<void> => {
    storage.save({ execution: { ...(running[index] ?? makeStored()).execution, status: 'success' }, owner: null })
    await storage.commit()
  }
  for (const each of [...running, makeStored()]) service.save(each)
  await service.requestCancel(running[0]?.execution.id ?? '')
  await end(beside.service, 0)
  await end(service, 1)
  await beside.service.endUnfinished(await beside.service.unfinished(), execution =>
    ({ ...execution, status: 'interrupted' }))
  await end(service, 0) // what it knew of it is out of date: it is new
  const env = await openFile(data_dir)
  const { executions, ids, details, unfinished, cancels, aside, columns } = env
  t.strictSame([executions, ids, details, unfinished, cancels, aside, columns].map(db => db.getCount()), [
    1, 1, 1, 0, 0, 0, 1
  ])
  t.equal(env.meta.get('bounds'), '5 5 0')
  await env.close()
  await beside.close()
  await close()
})

t.test('thousands of executions of a dead process are closed in few commits', async t => {
  const { service, data_dir, close } = await openPlugin(lmdb)
  for (let i = 0; i < 2_000; i++) service.save(makeStored({ status: 'running' }))
  await service.commit()
  const env = await openFile(data_dir)
  const commits = (): number => (env.meta.getStats() as { lastTxnId: number }).lastTxnId
  const before = commits()
  const ended = await service.endUnfinished(await service.unfinished(), execution =>
    ({ ...execution, status: 'interrupted' }))
  t.equal(ended.length, 2_000)
  t.ok(commits() - before <= 10, `${commits() - before} commits`)
  for (let i = 0; i < 20; i++) service.save(makeStored({ status: 'running', output: '\0'.repeat(1_048_576) }))
  const large = await service.unfinished()
  const between = commits()
  t.equal(
    (await service.endUnfinished(large, execution => ({ ...execution, status: 'interrupted' }))).length,
    20,
    'what is too much for a transaction waits for the next'
  )
  t.ok(commits() - between >= 5, `${commits() - between} commits of few bytes each`)
  await env.close()
  await close()
})

t.test('the file grows no further when as much is written again and again', async t => {
  const bytes_max = 4 * 1_048_576
  const { service, data_dir, close } = await openPlugin(lmdb, { config: { storage: { history_bytes_max: bytes_max } } })
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 20; i++) {
      service.save(makeStored({ output: 'x'.repeat((round * 7919 + i * 104_729) % 100_000) }))
    }
    await service.commit()
  }
  const { size } = await stat(join(data_dir, fileName))
  t.ok(size < 5 * bytes_max, `${size} bytes hold what ${bytes_max} may, of ${40 * 20 * 50_000} that were written`)
  await close()
})

t.test('a file of a newer format, of another program, or that can not be written is refused by name', async t => {
  const refused = async (data_dir: string, message: RegExp): Promise<void> => {
    await t.rejects(openPlugin(lmdb, { data_dir }), { message })
  }
  const newer = t.testdir({ newer: {}, other: {}, folder: { [fileName]: {} } })
  const env = await openFile(join(newer, 'newer'))
  await env.transact(() => { env.meta.putSync('format', '99') })
  await env.close()
  await refused(join(newer, 'newer'), /newer\/history\.mdb has format 99, made by a newer version; this one knows formats up to 5/)
  const file = join(newer, 'other', fileName)
  const other = await openEnvironment(file, async () => {})
  await other.close()
  await refused(join(newer, 'other'), /other\/history\.mdb is not a history of executions/)
  await refused(join(newer, 'folder'), /folder\/history\.mdb is damaged: it is not a file/)
})

t.test('executions past their age are removed, with all that belongs to them', async t => {
  const data_dir = t.testdir()
  const long = await openPlugin(lmdb, { data_dir, config: { storage: { history_days_max: 100 } } })
  for (let i = 0; i < 1_300; i++) {
    const created_at = new Date(Date.now() - (i < 1_200 ? 20 : 5) * day_ms).toISOString()
    long.service.save(makeStored({ created_at, output: 'x'.repeat(i % 3 === 0 ? 5_000 : 1) }))
  }
  await long.close()
  const { service, close } = await openPlugin(lmdb, { data_dir, config: { storage: { history_days_max: 10 } } })
  await until(async () => (await service.list({ limit: 1, offset: 0 })).total === 100)
  t.equal((await service.list({ limit: 500, offset: 0, status: 'success' })).executions.length, 100)
  await close()
  const env = await openFile(data_dir)
  t.strictSame([env.executions, env.ids, env.details].map(db => db.getCount()), [100, 100, 34])
  t.strictSame([...env.columns.getKeys({})], [4, 5], 'a chunk goes when all of it is gone')
  await env.close()
  await checkFile(join(data_dir, fileName))
})

t.test('filters hold past the greatest number of names', async t => {
  const env = await openFile(t.testdir())
  const names = new Names(env, 2)
  const numbers = await env.transact(() =>
    [['a', 'x'], ['b', 'x'], ['c', 'x'], ['a', 'x']].map(([skill = '', tool = '']) => names.numberOf(skill, tool)))
  t.strictSame(numbers, [1, 2, 0, 1])
  t.strictSame(
    [...names.verdicts({ skill_name: 'a' }) ?? []].slice(0, 4),
    [2, 1, 0, 0],
    'number 0 is looked up, and so is not missed'
  )
  await t.rejects(env.transact(() => {
    env.names.putSync(3, '["lost","tool"]')
    throw new Error('undone')
  }), { message: 'undone' })
  t.equal(env.names.get(3), undefined, 'a transaction that throws writes nothing')
  await env.close()
})
