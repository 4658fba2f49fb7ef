import t from 'tap'
import { definePlugin, type Storage } from '../../../kernel/index.ts'
import storageMemory from '../../../plugins/storage-memory/index.ts'
import { overriding, startKernel } from '../../support/kernel.ts'
import { until } from '../../../plugins/testing/until.ts'

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
  t.same(await Promise.all([kernel.gateway.ready(), kernel.gateway.ready()]), [true, true])
  t.equal(await kernel.gateway.ready(), true)
  t.equal(probes, 1)
  outcome = () => Promise.reject(new Error('the disk is full'))
  await until(async () => !await kernel.gateway.ready())
  t.equal(probes, 2, 'a refused write is seen once the answer is old')
  outcome = () => new Promise(() => {})
  await until(async () => { await kernel.gateway.ready(); return probes === 3 })
  t.equal(await kernel.gateway.ready(), false, 'one that hangs is none')
  outcome = async () => undefined
  await until(() => kernel.gateway.ready())
  t.pass('and it recovers')
})

t.test('an executor that does not answer makes it not ready', async t => {
  let answer = (): Promise<void> => Promise.resolve()
  const executor = definePlugin({
    name: 'executor-probed',
    slot: 'executor',
    setup: () => ({ runtime: 'probed', run: () => Promise.reject(new Error('runs nothing')), probe: () => answer() })
  })
  const { kernel, close } = await startKernel({ plugins: [executor] })
  t.teardown(close)
  t.equal(await kernel.gateway.ready(), true)
  answer = () => Promise.reject(new Error('dead'))
  await until(async () => !await kernel.gateway.ready())
  answer = () => Promise.resolve()
  await until(() => kernel.gateway.ready())
  t.pass('and it recovers')
})

t.test('the stores really write', async t => {
  const { kernel, close } = await startKernel()
  t.equal(await kernel.gateway.ready(), true)
  await close()
})
