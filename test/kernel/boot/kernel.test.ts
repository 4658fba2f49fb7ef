import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  definePlugin, execute, getExecution, health, type AnyPlugin, type PluginStatus, type Slot
} from '../../../kernel/index.ts'
import storageMemory from '../../../plugins/storage-memory/index.ts'
import { overriding, startKernel } from '../../support/kernel.ts'
import { until } from '../../../plugins/testing/until.ts'
import { Type } from 'typebox'

const call = { transport: 'http' as const, signal: new AbortController().signal }

/** A plugin that tells when it starts and stops. */
function witness (seen: string[], name: string, slot: Slot = 'transport', over: Partial<AnyPlugin> = {}): AnyPlugin {
  const service = slot === 'skills'
    ? { load: async () => ({ skills: [], quarantined: [] }) }
    : { quiesce () { seen.push(`${name} quiesces`) } }
  return {
    name,
    slot,
    setup ({ scope }: { scope: { defer (undo: () => void): void } }) {
      seen.push(`${name} starts`)
      scope.defer(() => { seen.push(`${name} stops`) })
      return service
    },
    ...over
  } as AnyPlugin
}

t.test('providers start before transports whatever their order, and everything stops in reverse', async t => {
  const seen: string[] = []
  const { kernel, close } = await startKernel({
    plugins: [witness(seen, 'door-a'), witness(seen, 'source', 'skills'), witness(seen, 'door-b')]
  })
  t.same(seen, ['source starts', 'door-a starts', 'door-b starts'])
  t.ok(kernel.plugins().every(({ state }) => state === 'ready'))
  await Promise.all([close(), kernel.stop()])
  t.same(seen.slice(3), ['door-a quiesces', 'door-b quiesces', 'door-b stops', 'door-a stops', 'source stops'])
  t.ok(kernel.plugins().every(({ state }) => state === 'stopped'))
})

t.test('an executor is connected with those of all runtimes, before anything runs, whatever the order', async t => {
  const seen: string[][] = []
  const executor = (runtime: string): AnyPlugin => definePlugin({
    name: `executor-${runtime}`,
    slot: 'executor',
    setup: () => ({
      runtime,
      connect (executors) { seen.push([runtime, ...executors.keys()]) },
      run: async () => ({ status: 'cancelled', output: '', output_truncated: false })
    })
  })
  const { close } = await startKernel({ plugins: [executor('a'), executor('b')] })
  t.teardown(close)
  t.same(seen, [['a', 'inline', 'a', 'b'], ['b', 'inline', 'a', 'b']])
})

t.test('a required plugin that can not start stops the kernel, with its name and cause, and undoes what had started', async t => {
  const seen: string[] = []
  const broken = definePlugin({
    name: 'broken',
    slot: 'transport',
    setup ({ scope }) { scope.defer(() => { seen.push('broken undoes') }); throw new Error('no such port') }
  })
  await t.rejects(startKernel({ plugins: [witness(seen, 'door'), broken] }), {
    message: 'plugin broken did not start: no such port'
  })
  t.same(seen, ['door starts', 'broken undoes', 'door quiesces', 'door stops'])
})

t.test('an optional plugin that can not start is reported, and all others serve', async t => {
  const broken = definePlugin({
    name: 'broken', slot: 'transport', required: false, setup () { throw new Error('no such port') }
  })
  const { kernel, close } = await startKernel({ plugins: [broken], tools: { hi: { run: () => 'hi' } } })
  t.teardown(close)
  const { status, plugins } = await kernel.gateway.invoke(health, {}, call)
  t.equal(status, 'degraded')
  t.match(plugins.find(({ name }) => name === 'broken'), { state: 'failed', reason: 'no such port' })
  t.match(await kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name: 'hi', parameters: {} }, call), {
    output: 'hi'
  })
})

t.test('a plugin tells that it is not well, and that it is again, and the bus carries it', async t => {
  let tell: { degrade (reason: string): void, recover (): void } | undefined
  const moody = definePlugin({ name: 'moody', slot: 'transport', setup ({ health }) { tell = health; return {} } })
  const { kernel, close } = await startKernel({ plugins: [moody] })
  t.teardown(close)
  const heard: PluginStatus[] = []
  kernel.gateway.bus.on('plugin', status => { heard.push(status) })
  const statusOf = async (): Promise<string> => (await kernel.gateway.invoke(health, {}, call)).status
  t.equal(await statusOf(), 'healthy')
  tell?.degrade('the disk is full')
  t.equal(await statusOf(), 'degraded')
  t.same(
    kernel.plugins().filter(({ reason }) => reason !== undefined).map(({ name }) => name),
    ['moody'],
    'the reason is its own'
  )
  tell?.recover()
  t.equal(await statusOf(), 'healthy')
  t.same(heard, [{ name: 'moody', state: 'degraded', reason: 'the disk is full' }, { name: 'moody', state: 'ready' }])
})

t.test('options of a plugin are checked, given their defaults and typed', async t => {
  let got: unknown
  const choosy = definePlugin({
    name: 'choosy', slot: 'transport',
    options: Type.Object({ size: Type.Integer({ default: 3 }) }, { additionalProperties: false }),
    setup (_, options) { got = options; return {} }
  })
  const { close } = await startKernel({ plugins: [choosy] })
  await close()
  t.same(got, { size: 3 })
  await t.rejects(
    startKernel({ plugins: [choosy], config: { plugin: { choosy: { sise: 4 } } } }),
    /plugin\.choosy has an unknown field "sise"; did you mean "size"/
  )
  await t.rejects(
    startKernel({ plugins: [witness([], 'plain')], config: { plugin: { plain: { a: 1 } } } }),
    /takes none/
  )
})

t.test('two plugins of one name, and two of one single slot, are refused', async t => {
  await t.rejects(startKernel({ plugins: [witness([], 'door'), witness([], 'door')] }), /two plugins are named "door"/)
  await t.rejects(startKernel({ plugins: [{ ...storageMemory, name: 'other-storage' }] }), /2 plugins provide storage/)
})

t.test('two executors of one runtime are refused by their names', async t => {
  const executor = (name: string, runtime: string): AnyPlugin => definePlugin({
    name,
    slot: 'executor',
    setup: () => ({ runtime, run: async () => ({ status: 'cancelled', output: '', output_truncated: false }) })
  })
  await t.rejects(
    startKernel({ plugins: [executor('first', 'lua'), executor('second', 'lua')] }),
    /the plugins "first" and "second" both run the runtime "lua"/
  )
  const { close } = await startKernel({ plugins: [executor('first', 'lua'), executor('second', 'wren')] })
  await close()
})

t.test('a transport says its own name, which stands in the records of what it runs', async t => {
  const { kernel, close } = await startKernel({ tools: { say: { run: () => 'said' } } })
  t.teardown(close)
  const { execution_id } = await kernel.gateway.invoke(
    execute, { skill_name: 'subject', tool_name: 'say', parameters: {} }, { ...call, transport: 'pigeon' }
  )
  t.match(await kernel.gateway.invoke(getExecution, { id: execution_id }, call), { transport: 'pigeon' })
})

t.test('running executions finish during the drain, and those that can not are interrupted', async t => {
  let finish: (() => void) | undefined
  const { kernel, close } = await startKernel({
    config: { execution: { drain_ms: 60_000 } },
    tools: { wait: { run: () => new Promise(resolve => { finish = () => { resolve('done') } }) } }
  })
  const running = kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name: 'wait', parameters: {} }, call)
  await until(() => finish !== undefined)
  const closing = close()
  await new Promise(resolve => setImmediate(resolve)) // the transports quiesce first
  await t.rejects(
    kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name: 'wait', parameters: {} }, call),
    { code: 'OVERLOADED' },
    'nothing new is taken'
  )
  finish?.()
  t.match(await running, { status: 'success', output: 'done' })
  await closing

  const hasty = await startKernel({
    config: { execution: { drain_ms: 0 } }, tools: { hang: { run: () => new Promise(() => {}) } }
  })
  const hung = hasty.kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name: 'hang', parameters: {} }, call)
  const refused =
    t.rejects(hung, { code: 'INTERRUPTED', details: { skill: 'subject', tool: 'hang', execution_id: String } })
  await hasty.close()
  await refused
})

t.test('a role is held by one process on a data directory, and given back', async t => {
  const data_dir = await mkdtemp(join(tmpdir(), 'skillet-role-'))
  t.teardown(() => import('node:fs/promises').then(({ rm }) => rm(data_dir, { recursive: true })))
  const { default: storageLmdb } = await import('../../../plugins/storage-lmdb/index.ts')
  const other = definePlugin({
    name: 'other-process', slot: 'storage',
    async setup (context, options) {
      const storage = await storageLmdb.setup(context, options)
      // The parent of this process is another one, and it lives.
      return overriding(storage, {
        claim: async () => ({ owner: { pid: process.ppid, started: 'then' }, note: 'http://127.0.0.1:1' })
      })
    }
  })
  await t.rejects(
    startKernel({ storage: other, role: 'serve', data_dir }),
    new RegExp(`process ${process.ppid} already serves the data directory ${data_dir} at http://127.0.0.1:1`)
  )
  const first = await startKernel({ storage: storageLmdb, role: 'serve', data_dir })
  await first.close()
  const second = await startKernel({ storage: storageLmdb, role: 'serve', data_dir })
  await second.close()
})
