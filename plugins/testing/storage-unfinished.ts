import type { TestContext } from './context.ts'
import { makeStored } from './executions.ts'
import { firstPage, interrupt, type Define, type OpenBeside, type OpenStorage } from './storage-define.ts'

/** What becomes of executions that nobody finishes. */
export function testUnfinished (define: Define): void {
  define('unfinished executions are found, until they end', async (t, storage) => {
    const running = [makeStored({ status: 'queued' }), makeStored({ status: 'running', output: 'x'.repeat(5_000) })]
    for (const stored of [makeStored(), ...running, makeStored()]) storage.save(stored)
    const ids = async (): Promise<string[]> => (await storage.unfinished()).map(({ id }) => id)
    const expected = running.map(({ execution, owner }) => ({ id: execution.id, owner }))
    t.same((await storage.unfinished()).toSorted((a, b) => a.id < b.id ? -1 : 1), expected)
    for (const { execution } of running) {
      storage.save({ execution: { ...execution, status: 'interrupted' }, owner: null })
      t.notOk((await ids()).includes(execution.id))
    }
    t.same(await ids(), [])
  })

  define('many unfinished executions are found, and ended at once, each once', async (t, storage) => {
    const running = Array.from({ length: 1_300 }, () => makeStored({ status: 'running' }))
    for (const each of running) storage.save(each)
    const unfinished = await storage.unfinished()
    t.same(unfinished.map(({ id }) => id).toSorted(), running.map(({ execution }) => execution.id).toSorted())
    const ended = await storage.endUnfinished([...unfinished.slice(0, 5), ...unfinished], interrupt)
    t.same(ended, unfinished.map(({ id }) => id))
    t.same(await storage.unfinished(), [])
    t.equal((await storage.list({ ...firstPage, status: 'interrupted' })).total, 1_300)
  })

  define('what is ended has ended like any other', async (t, storage) => {
    const { execution, owner } = makeStored({ status: 'running', output: 'x'.repeat(5_000) })
    storage.save({ execution, owner })
    await storage.requestCancel(execution.id)
    await storage.endUnfinished(await storage.unfinished(), interrupt)
    t.same(await storage.get(execution.id), { execution: interrupt(execution), owner: null })
    t.same(storage.cancelRequests(), [])
    t.same(await storage.endUnfinished([], interrupt), [])
    const again = makeStored({ status: 'running' })
    storage.save(again)
    await t.rejects(storage.endUnfinished(await storage.unfinished(), () => { throw new Error('no record') }), {
      message: 'no record'
    })
    t.same(await storage.get(again.execution.id), again, 'where it fails, nothing is ended')
    storage.save(makeStored({ skill_name: 'new' }))
    await storage.commit()
    t.equal((await storage.list({ ...firstPage, skill_name: 'new' })).total, 1)
  })

  define('a request to cancel is kept until the execution ends', async (t, storage) => {
    const stored = makeStored({ status: 'running' })
    const ended = makeStored()
    const { id } = stored.execution
    storage.save(stored)
    storage.save(ended)
    t.same(storage.cancelRequests(), [])
    await storage.requestCancel(id)
    await storage.requestCancel(id)
    await storage.requestCancel(ended.execution.id)
    for (const stranger of ['nobody', '', '\0', '__proto__', 'x'.repeat(5_000)]) await storage.requestCancel(stranger)
    t.same(storage.cancelRequests(), [id])
    storage.save({ execution: { ...stored.execution, output: 'more' }, owner: stored.owner })
    await storage.commit()
    t.same(storage.cancelRequests(), [id])
    storage.save({ execution: { ...stored.execution, status: 'cancelled' }, owner: null })
    await storage.commit()
    t.same(storage.cancelRequests(), [])
  })
}

/** Each writer stands for a process. */
export async function testTwoWriters (t: TestContext, open: OpenStorage, openBeside: OpenBeside): Promise<void> {
  await t.test('an execution is ended only where nobody ended it, or took it, since it was found', async t => {
    const first = await open()
    t.teardown(() => first.close())
    const beside = await openBeside(first)
    t.teardown(() => beside.close())
    const [finder, writer] = [first.service, beside.service]
    const stored = ['dead', 'ended', 'ended, not yet committed', 'taken by another process']
      .map(output => makeStored({ status: 'running', output }))
    const [dead, ended, pending, taken] = stored.map(({ execution }) => execution)
    if (dead === undefined || ended === undefined || pending === undefined || taken === undefined) {
      throw new Error('four were made')
    }
    for (const each of stored) writer.save(each)
    await writer.commit()
    const unfinished = await finder.unfinished()
    t.equal(unfinished.length, 4)
    writer.save({ execution: { ...ended, status: 'success' }, owner: null })
    writer.save({ execution: taken, owner: { pid: 1, started: 'later' } })
    await writer.commit()
    finder.save({ execution: { ...pending, status: 'success' }, owner: null })
    t.same(await finder.endUnfinished([...unfinished, { id: 'nobody', owner: { pid: 1, started: '' } }], interrupt), [
      dead.id
    ])
    for (const { service } of [first, beside]) {
      const statuses = await Promise.all(
        [dead, ended, pending, taken].map(async ({ id }) => (await service.get(id))?.execution.status)
      )
      t.same(statuses, ['interrupted', 'success', 'success', 'running'])
    }
    t.same(await writer.unfinished(), [{ id: taken.id, owner: { pid: 1, started: 'later' } }])
  })
}
