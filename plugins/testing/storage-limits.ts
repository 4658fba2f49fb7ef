import { pendingLimits, type ExecutionQuery } from '../../kernel/index.ts'
import { makeStored } from './executions.ts'
import { until } from './until.ts'
import { firstPage, interrupt, type Define } from './storage-define.ts'

/** What is kept of the history, and what may wait to be written. */
export function testLimits (define: Define): void {
  define('the oldest are pruned; one that has not ended is stepped over, and pruned when it ends', async (t, storage) => {
    const stored = Array.from({ length: 30 }, (_, i) => makeStored({
      status: i === 5 || i === 15 ? 'running' : 'success',
      output: 'x'.repeat(i % 2 * 4_000),
      skill_name: `of-${i % 2}`
    }))
    const ids = stored.map(({ execution }) => execution.id)
    for (const each of stored) {
      storage.save(each)
      await storage.commit()
    }
    const kept = [...ids.slice(20).toReversed(), ids[15], ids[5]]
    const listed = async (query: Partial<ExecutionQuery>): Promise<(string | undefined)[]> =>
      (await storage.list({ ...firstPage, ...query })).executions.map(({ id }) => id)
    t.same(await listed({}), kept)
    t.equal((await storage.list(firstPage)).total, 12)
    for (let offset = 0; offset < 14; offset++) {
      t.same(await listed({ offset, limit: 2 }), kept.slice(offset, offset + 2))
    }
    t.same(await listed({ status: 'running' }), kept.slice(10))
    t.same(await listed({ skill_name: 'of-1' }), kept.filter((_, i) => i < 10 ? i % 2 === 0 : true))
    const seen: (string | undefined)[] = []
    for (let cursor: string | undefined, pages = 0; pages < 6; pages++) {
      const page = await storage.list({ limit: 2, offset: 0, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.executions.map(({ id }) => id))
      cursor = page.next_cursor
      t.equal(cursor === undefined, pages === 5)
    }
    t.same(seen, kept)
    for (const [i, id] of ids.entries()) t.equal((await storage.get(id)) === undefined, i < 20 && i !== 5 && i !== 15)
    const finish = async (i: number): Promise<void> => {
      storage.save({ execution: { ...(stored[i] ?? makeStored()).execution, status: 'success' }, owner: null })
      await storage.commit()
    }
    await storage.requestCancel(ids[15] ?? '')
    t.same(storage.cancelRequests(), [ids[15]])
    storage.save({
      execution: { ...(stored[5] ?? makeStored()).execution, output: 'still running' },
      owner: stored[5]?.owner ?? null
    })
    await finish(15)
    t.same(storage.cancelRequests(), [])
    t.same(await listed({}), kept.filter(id => id !== ids[15]))
    t.equal((await storage.get(ids[5] ?? ''))?.execution.output, 'still running')
    await storage.endUnfinished(await storage.unfinished(), interrupt)
    t.same([await listed({}), (await storage.list(firstPage)).total], [kept.slice(0, 10), 10])
    const { next_cursor: cursor = '' } = await storage.list({ limit: 5, offset: 0 })
    for (let i = 0; i < 12; i++) storage.save(makeStored())
    t.same(
      await storage.list({ limit: 5, offset: 0, cursor }),
      { executions: [], total: 10 },
      'a cursor to what was pruned leads to nothing'
    )
  }, { history_executions_max: 10 })

  define('the oldest are pruned past the bytes, and what has not ended is stepped over', async (t, storage) => {
    const first = makeStored({ status: 'running' })
    storage.save(first)
    let newest = ''
    for (let i = 0; i < 200; i++) {
      const stored = makeStored({ output: 'x'.repeat(i % 2 * 100_000) })
      newest = stored.execution.id
      storage.save(stored)
      if (i % 10 === 9) await storage.commit()
    }
    await until(async () => (await storage.list(firstPage)).total <= 45)
    const page = await storage.list({ limit: 500, offset: 0 })
    t.equal(page.executions[0]?.id, newest)
    t.equal(page.executions.at(-1)?.id, first.execution.id)
    t.ok(page.total > 15, `${page.total} are left: no more goes than has to`)
    t.equal(page.executions.length, page.total)
    t.same(await storage.get(first.execution.id), first)
  }, { history_bytes_max: 2 * 1_048_576 })

  define('what waits for a commit is bounded in bytes', async (t, storage) => {
    // A half, at two bytes for each character.
    const { execution, owner } = makeStored({ output: 'x'.repeat(pendingLimits.bytes / 4 + 1) })
    storage.save({ execution, owner })
    storage.admit()
    storage.save({ execution, owner })
    t.throws(
      () => { storage.admit() },
      { code: 'OVERLOADED', message: new RegExp(`bytes wait .* ${pendingLimits.bytes} bytes may`) }
    )
    execution.output = '' // read at the commit, which need not take long
    storage.save({ execution, owner })
    await storage.commit()
    storage.admit()
  })

  define('what has waited too long for a commit is refused, but never the end of what was accepted', async (t, storage) => {
    const { execution, owner } = makeStored({ status: 'running' })
    storage.save({ execution, owner })
    await storage.commit()
    storage.admit()
    const waiting = Array.from({ length: pendingLimits.executions }, () => makeStored())
    for (const stored of waiting) storage.save(stored)
    t.throws(
      () => { storage.admit() },
      { code: 'OVERLOADED', message: new RegExp(`wait .* ${pendingLimits.executions} may`) }
    )
    storage.save({ execution: { ...execution, status: 'success' }, owner: null })
    storage.save(waiting[49_999] ?? makeStored())
    await storage.commit()
    storage.save(makeStored())
    t.equal((await storage.list(firstPage)).total, 50_002)
  })
}
