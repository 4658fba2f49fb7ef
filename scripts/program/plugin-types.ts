// What scripts/package.mjs compiles against the packed package, as plugins of others are compiled. A line below
// `@ts-expect-error` must not compile.
import { test } from 'node:test'
import {
  abortSignalOf, definePlugin, defineSection, ERRORS, isoTime, messageOf, outputOf, pluginApi, Scope, SkilletError,
  Type, within,
  type Bus, type Call, type Config, type Endpoint, type ErrorCode, type Execution, type Executor, type Gateway,
  type JsonObject, type Logger, type Outcome, type Plugin,
  type Search, type SkillDefinition, type SkillSource, type Slots, type Storage, type Transport
} from 'skillet/plugin'
import {
  callOf, forNode, forTap, openKernel, openPlugin, testEndpoint, testExecutor, testSearch, testSkillSource, testStorage,
  testTransport, until, type TapTest, type TestContext
} from 'skillet/testing'
import { createKernel } from 'skillet'
import { defineSkill } from 'skillet/skill'

const door = defineSection('door', 'The door', { host: Type.String({ default: '::1', description: 'Its address' }) })

export const transport: Plugin<'transport'> = definePlugin({
  name: 'typed',
  slot: 'transport',
  options: Type.Object({ port: Type.Integer({ default: 0 }) }),
  sections: [door],
  async setup ({ gateway, scope, log, signal, config }, { port }): Promise<Transport> {
    const wanted: number = port
    const host: string = door.of(config).host
    // @ts-expect-error the settings of the HTTP server are its plugin's
    log.debug({}, config.server)
    scope.defer(
      gateway.bus.on('transition', ({ execution_id, status }) => { log.info({ execution_id, status }, host) })
    )
    const operation = gateway.operations.find(({ name }) => name === 'execute')
    if (operation !== undefined) await gateway.invoke(operation, {}, { transport: 'typed', signal })
    // @ts-expect-error there is no such event
    gateway.bus.on('nothing', () => {})
    return { url: `tcp://127.0.0.1:${wanted}` }
  }
})

export const executor = definePlugin({
  name: 'typed-executor',
  slot: 'executor',
  setup: ({ config }): Executor => ({
    runtime: 'typed',
    async run ({ parameters, timeout_ms }, observer, signal): Promise<Outcome> {
      observer.started('process')
      if (abortSignalOf(signal).aborted) return { status: 'cancelled', output: '', output_truncated: false }
      if (timeout_ms > 5) throw new SkilletError('OVERLOADED', messageOf(ERRORS))
      return { status: 'success', ...outputOf(JSON.stringify(parameters), config.execution.output_bytes_max) }
    }
  })
})

// @ts-expect-error a storage has methods
definePlugin({ name: 'wrong', slot: 'storage', setup: () => ({}) })
// @ts-expect-error there is no such slot
definePlugin({ name: 'wrong', slot: 'shop', setup: () => ({}) })
// @ts-expect-error there is no such code
export const wrong = new SkilletError('NO_SUCH_CODE', '')

test('typed', async t => {
  const tester: TestContext = forNode(t)
  await testTransport(tester, {
    plugin: transport,
    connect: ({ url }) => ({ call: async () => ({ output: { url } }), close () {} })
  })
  await testExecutor(tester, {
    async open (config: JsonObject) {
      const { service, close } = await openPlugin(executor, { config })
      return { executor: service, close }
    },
    isolation: 'process',
    calls: {
      echo: text => callOf('typed', { name: 'echo' }, { text }),
      fail: () => undefined,
      sleep: () => undefined,
      hang: () => undefined,
      output: () => undefined,
      append: () => undefined
    },
    concurrency: undefined
  })
  const { gateway, close }: { gateway: Gateway, close (): Promise<void> } = await openKernel()
  await until(() => gateway.operations.length > 0)
  await close()
})

export const other = {
  createKernel, defineSkill, forTap, isoTime, Scope, testEndpoint, testSearch, testSkillSource, testStorage, within
}
export const api: 1 = pluginApi
export type Others = [
  Bus, Call, Config, Endpoint, ErrorCode, Execution, Logger, Search, SkillDefinition, SkillSource, Slots, Storage,
  TapTest
]
