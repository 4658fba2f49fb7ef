import { keyLimits, newExecutionId, type KeyedExecution } from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { makeStored } from './executions.ts'
import type { Define, OpenBeside, OpenStorage } from './storage-define.ts'

function keyed (execution_id: string, expires_in_ms = 60_000): KeyedExecution {
  return { execution_id, fingerprint: 'f'.repeat(64), expires_ms: Date.now() + expires_in_ms }
}

/** Executions that are saved under a key. */
export function testKeys (define: Define): void {
  define('of the executions with one key, the first is saved, and no other is stored', async (t, storage) => {
    const first = makeStored({ status: 'queued' })
    const second = makeStored({ status: 'queued' })
    const key = 'k'.repeat(keyLimits.characters)
    const entry = keyed(first.execution.id)
    t.equal(await storage.saveOnce(key, entry, first), undefined)
    t.same(await storage.get(first.execution.id), first)
    t.same(await storage.saveOnce(key, keyed(second.execution.id), second), entry)
    t.equal(await storage.get(second.execution.id), undefined)
    t.same((await storage.unfinished()).map(({ id }) => id), [first.execution.id])
    storage.save({ execution: { ...first.execution, status: 'success' }, owner: null })
    await storage.commit()
    t.same(await storage.saveOnce(key, keyed(second.execution.id), second), entry, 'also when it has ended')
    t.equal(await storage.saveOnce('other', keyed(second.execution.id), second), undefined)
    t.same(await storage.get(second.execution.id), second)
  })

  define('many at once with one key are one execution', async (t, storage) => {
    const stored = Array.from({ length: 50 }, () => makeStored({ status: 'queued' }))
    const answers = await Promise.all(stored.map(each => storage.saveOnce('key', keyed(each.execution.id), each)))
    const winners = stored.filter((_, i) => answers[i] === undefined)
    t.equal(winners.length, 1)
    const [winner] = winners
    for (const answer of answers) {
      if (answer !== undefined) t.equal(answer.execution_id, winner?.execution.id)
    }
    t.same((await storage.unfinished()).map(({ id }) => id), winners.map(({ execution }) => execution.id))
  })

  define('a key that has expired is free again', async (t, storage) => {
    const [first, second, third] = [makeStored(), makeStored(), makeStored()]
    t.equal(await storage.saveOnce('key', keyed(first.execution.id, -1), first), undefined)
    const entry = keyed(second.execution.id)
    t.equal(await storage.saveOnce('key', entry, second), undefined)
    t.same(await storage.saveOnce('key', keyed(third.execution.id), third), entry)
    t.same(await storage.get(first.execution.id), first, 'the execution stays')
  })

  define('beyond the limit a new key is refused, until old ones have expired', async (t, storage) => {
    const save = async (key: string, expires_in_ms?: number): Promise<unknown> => {
      const stored = makeStored()
      try {
        const found = await storage.saveOnce(key, keyed(stored.execution.id, expires_in_ms), stored)
        t.equal(await storage.get(stored.execution.id) !== undefined, found === undefined)
        return found
      } catch (error) {
        t.equal(await storage.get(stored.execution.id), undefined, 'what is refused is not stored')
        throw error
      }
    }
    for (const key of ['a', 'b', 'c', 'd', 'e']) t.equal(await save(key, -1), undefined, 'expired keys make room')
    for (const key of ['f', 'g', 'h']) t.equal(await save(key), undefined)
    await t.rejects(save('i'), { code: 'OVERLOADED', message: /idempotency_keys_max/ })
    t.ok(await save('f'), 'a known key is answered')
  }, { idempotency_keys_max: 3 })

  define('unfinished executions are left, or taken over', async (t, storage) => {
    const stored = Array.from({ length: 3 }, () => makeStored({ status: 'queued' }))
    const [left, taken, ended] = stored.map(({ execution }) => execution.id)
    for (const each of stored) storage.save(each)
    const found = await storage.unfinished()
    const owner = { pid: 4_711, started: 'elsewhere' }
    const got = await storage.takeOver(found, owner, ({ id }) => id === taken)
    t.same(got, stored.filter(({ execution }) => execution.id === taken).map(({ execution }) => execution))
    t.same((await storage.get(taken ?? ''))?.owner, owner)
    t.same(await storage.takeOver(found, { pid: 1, started: '' }, ({ id }) => id === taken), [], 'it has another owner')
    const interrupted = await storage.endUnfinished(found, execution =>
      execution.id === left ? undefined : { ...execution, status: 'interrupted' })
    t.same(interrupted, [ended])
    t.same(await storage.get(left ?? ''), stored[0])
    const ids = (await storage.unfinished()).map(({ id }) => id)
    t.same(ids.toSorted(), [left, taken].toSorted())
  })
}

/** Each writer stands for a process. */
export async function testKeysOfTwoWriters (t: TestContext, open: OpenStorage, openBeside: OpenBeside): Promise<void> {
  await t.test('of two writers with one key, one saves its execution', async t => {
    const first = await open()
    t.teardown(() => first.close())
    const beside = await openBeside(first)
    t.teardown(() => beside.close())
    for (let round = 0; round < 20; round++) {
      const key = newExecutionId()
      const answers = await Promise.all([first, beside, first, beside].map(async ({ service }) => {
        const stored = makeStored({ status: 'queued' })
        const other = await service.saveOnce(key, keyed(stored.execution.id), stored)
        return { id: stored.execution.id, other }
      }))
      const winners = answers.filter(({ other }) => other === undefined)
      t.equal(winners.length, 1)
      for (const { id, other } of answers) {
        t.equal(other?.execution_id ?? id, winners[0]?.id)
        t.equal(await beside.service.get(id) !== undefined, id === winners[0]?.id)
      }
    }
  })
}
