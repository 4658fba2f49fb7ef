import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLogger, soughtIn, type Storage, type StoredExecution } from '../../kernel/index.ts'
import { care } from '../../plugins/storage-lmdb/care/care.ts'
import lmdb, { fileName } from '../../plugins/storage-lmdb/index.ts'
import { BlockFile, writeBlock } from '../../plugins/storage-lmdb/text/block-file.ts'
import { removePruned, wordsFolder } from '../../plugins/storage-lmdb/text/folder.ts'
import { blockLength } from '../../plugins/storage-lmdb/text/positions.ts'
import { makeStored } from '../../plugins/testing/executions.ts'
import { openPlugin, type Opened } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'

const size = 3 * blockLength + 100
const context = (data_dir: string) => ({ data_dir, log: silentLogger, signal: new AbortController().signal })

async function save (storage: Storage, all: readonly StoredExecution[]): Promise<void> {
  for (const [i, stored] of all.entries()) {
    storage.save(stored)
    if (i % 500 === 499) await storage.commit()
  }
  await storage.commit()
}

/** The numbers in the outputs of what was found, once the index is complete. */
async function found (storage: Storage, text: string): Promise<{ total: number, ids: string[] }> {
  for (;;) {
    const page = await storage.find?.(soughtIn(text), { limit: 50, offset: 0 })
    if (page === undefined) throw new Error('it can\'t find')
    if (page.unindexed === 0) return { total: page.total, ids: page.executions.map(({ id }) => id) }
  }
}

t.test('the index of words follows a history of many blocks, whatever becomes of its files', async t => {
  const data_dir = join(t.testdir(), 'data')
  mkdirSync(data_dir, { mode: 0o700 })
  const folder = wordsFolder(join(data_dir, fileName))
  const open: Opened<Storage>[] = []
  const storage = async (history_executions_max = 1_000_000): Promise<Storage> => {
    const opened = await openPlugin(lmdb, { data_dir, config: { storage: { history_executions_max } } })
    open.push(opened)
    return opened.service
  }
  const close = async (): Promise<void> => { for (const each of open.splice(0)) await each.close() }
  t.teardown(close)
  const all = Array.from({ length: size }, (_, i) => makeStored({
    output: `n${i} common ${i % 2 === 0 ? 'even' : 'odd'} ${i % 1_000 === 7 ? 'seven' : ''}`,
    status: i === 50 ? 'running' : 'success'
  }))
  const idOf = (i: number): string => all[i]?.execution.id ?? ''
  const sevens = all.flatMap(({ execution }, i) => i % 1_000 === 7 ? [execution.id] : []).toReversed()
  const check = async (storage: Storage): Promise<void> => {
    t.same(await found(storage, 'seven'), { total: sevens.length, ids: sevens })
    t.same(await found(storage, 'n1234'), { total: 1, ids: [idOf(1234)] })
    t.same(await found(storage, 'n9999 odd common'), { total: 1, ids: [idOf(9999)] })
    t.equal((await found(storage, 'n9999 even')).total, 0)
    t.equal((await found(storage, 'comm*')).total, 10_000, 'no more than is counted')
  }
  const blocks = (): string[] => readdirSync(folder).toSorted()

  const first = await storage()
  t.notOk(readdirSync(data_dir).some(name => name.includes('words')), 'nothing before the first search')
  await save(first, all)
  await check(first)
  t.same(blocks(), ['0.words', '1.words', '2.words'])
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(statSync(join(folder, '0.words')).mode & 0o777, 0o600)

  await t.test('two at once use the same files', async () => {
    await check(await storage())
    await check(first)
  })

  await t.test('what ends long after its block has a file is found by what it said last', async t => {
    t.same(new BlockFile(join(folder, '0.words')).facts.open, [51], 'numbers begin at 1')
    const running = all[50]
    if (running === undefined) throw new Error('it is there')
    first.save({ execution: { ...running.execution, status: 'success', output: 'lateword' }, owner: null })
    t.same(await found(first, 'lateword'), { total: 1, ids: [idOf(50)] })
    await close()
    t.same(await found(await storage(), 'lateword'), { total: 1, ids: [idOf(50)] })
  })

  await t.test('files that are damaged, cut, missing or of others are made again', async () => {
    for (const harm of [
      () => { rmSync(folder, { recursive: true }) },
      () => { writeFileSync(join(folder, '1.words'), readFileSync(join(folder, '1.words')).subarray(0, 5_000)) },
      () => { writeFileSync(join(folder, '1.words'), '') },
      () => {
        const bytes = readFileSync(join(folder, '2.words'))
        writeFileSync(join(folder, '2.words'), bytes.fill(0xa5, 0, bytes.length - 20_000))
      },
      () => { renameSync(join(folder, '0.words'), join(folder, '1.words')) },
      () => {
        const { history } = new BlockFile(join(folder, '0.words')).facts
        const facts = { history, last_id: 'another', open: [] }
        writeBlock(join(folder, '0.words'), facts, new Map([['seven', [1, 2, 3]]]))
      },
      () => { writeFileSync(join(folder, '2.words.1.tmp'), 'left by a process that was killed') }
    ]) {
      await close()
      harm()
      await check(await storage())
    }
    await check(open[0]?.service ?? first)
    writeFileSync(join(folder, '1.words'), 'damaged while it is in use')
    await check(open[0]?.service ?? first)
  })

  await t.test('a folder that can\'t be made only costs completeness', async t => {
    await close()
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'a file in its place')
    const hindered = await storage()
    const page = await hindered.find?.(soughtIn('common'), { limit: 1, offset: 0 })
    t.match(page, { executions: [{ id: idOf(size - 1) }], unindexed: Number })
    t.ok((page?.unindexed ?? 0) > 0 && (page?.total ?? 0) >= 100)
    rmSync(folder)
    await check(hindered)
  })

  await t.test('what is pruned is not found, and leaves the index', async t => {
    await close()
    const small = await storage(5_000)
    await save(small, [makeStored()])
    await until(async () => (await small.list({ limit: 1, offset: 0 })).total === 5_000)
    t.equal((await found(small, 'n1234')).total, 0)
    t.equal((await found(small, 'odd')).total, 2_500)
    await removePruned(folder, size - 5_000)
    t.same(blocks(), ['1.words', '2.words'])
  })

  await t.test('another history in the place of this one is not searched by its words', async t => {
    await care.backup(join(data_dir, 'copy.mdb'), context(data_dir))
    await close()
    await care.restore(join(data_dir, 'copy.mdb'), context(data_dir))
    t.notOk(readdirSync(data_dir).includes(`${fileName}-words`))
    t.equal((await found(await storage(5_000), 'odd')).total, 2_500)
  })
})
