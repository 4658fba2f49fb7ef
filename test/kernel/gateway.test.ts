import t from 'tap'
import type { Storage } from '../../kernel/index.ts'
import storageMemory from '../../plugins/storage-memory/index.ts'
import { overriding, startKernel } from '../support/kernel.ts'
import { until } from '../support/until.ts'

t.test('writing is probed by a write, one at a time, and not again at once', async t => {
  let probes = 0
  let outcome: () => Promise<undefined> = async () => undefined
  const storage = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const memory = await storageMemory.setup(...args)
      const claim: Storage['claim'] = (role, ...rest) => {
        if (role !== 'probe') return memory.claim(role, ...rest)
        probes++
        return outcome()
      }
      return overriding(memory, { claim })
    }
  }
  const { kernel, close } = await startKernel({ storage })
  t.teardown(close)
  t.same(await Promise.all([kernel.gateway.writes(), kernel.gateway.writes()]), [true, true])
  t.equal(await kernel.gateway.writes(), true)
  t.equal(probes, 1)
  outcome = () => Promise.reject(new Error('the disk is full'))
  await until(async () => !await kernel.gateway.writes())
  t.equal(probes, 2, 'a refused write is seen once the answer is old')
  outcome = () => new Promise(() => {})
  await until(async () => { await kernel.gateway.writes(); return probes === 3 })
  t.equal(await kernel.gateway.writes(), false, 'one that hangs is none')
  outcome = async () => undefined
  await until(() => kernel.gateway.writes())
  t.pass('and it recovers')
})

t.test('the stores really write', async t => {
  const { kernel, close } = await startKernel()
  t.equal(await kernel.gateway.writes(), true)
  await close()
})
