import t from 'tap'
import { definePlugin, execute, isAlive, thisProcess, type AnyPlugin, type Finding } from '../../../kernel/index.ts'
import { completeConfig } from '../../../kernel/boot/config-load.ts'
import { isolationNote } from '../../../kernel/boot/examine.ts'
import storageMemory from '../../../plugins/storage-memory/index.ts'
import { overriding, skillSource, startKernel } from '../../support/kernel.ts'

const never = new AbortController().signal

t.test('what a kernel finds: broken skills, plugins that are not well, who serves, and what plugins say of their surroundings', async t => {
  const quarantined = [{ name: 'bent', path: '/skills/bent/skill.toml', error: 'it is bent' }]
  const limping = definePlugin({
    name: 'limping', slot: 'transport',
    setup ({ health }) {
      queueMicrotask(() => { health.degrade('one leg') })
      return {}
    }
  })
  const asked: AnyPlugin[] = [
    definePlugin({
      name: 'sees',
      slot: 'transport',
      setup: () => ({}),
      examine: ({ skills, config }): Finding[] => [{
        level: 'note',
        about: 'skills',
        text: `${skills.map(({ name }) => name).join()} at ${config.execution.queue_max}`
      }]
    }),
    definePlugin({ name: 'throws', slot: 'transport', setup: () => ({}), examine: () => { throw new Error('blind') } }),
    definePlugin({ name: 'silent', slot: 'transport', setup: () => ({}) })
  ]
  const { kernel, close } = await startKernel({
    plugins: [
      skillSource(
        { skills: [], quarantined, warnings: [{ name: 'odd', path: '/skills/odd/SKILL.md', warning: 'it is odd' }] },
        'more'
      ),
      limping
    ],
    role: 'serve'
  })
  t.teardown(close)
  await new Promise(resolve => { setImmediate(resolve) })
  t.same(await kernel.examine(asked, never), [
    { level: 'problem', about: 'skill bent', text: '/skills/bent/skill.toml: it is bent' },
    { level: 'note', about: 'skill odd', text: '/skills/odd/SKILL.md: it is odd' },
    { level: 'problem', about: 'plugin limping', text: 'degraded: one leg' },
    { level: 'note', about: 'isolation', text: isolationNote(completeConfig({})) },
    { level: 'ok', about: 'server', text: `process ${process.pid} serves this data directory` },
    { level: 'note', about: 'skills', text: 'subject at 10000' },
    { level: 'problem', about: 'plugin throws', text: 'it can\'t say how it is: blind' }
  ])
})

t.test('a dead server is not one that serves', async t => {
  const dead = { ...thisProcess(), pid: 2 ** 22 + 1 }
  t.notOk(isAlive(dead))
  const storage = {
    ...storageMemory,
    setup: async (...args: Parameters<typeof storageMemory.setup>) =>
      overriding(await storageMemory.setup(...args), { holder: async () => ({ owner: dead, note: '' }) })
  }
  const { kernel, close } = await startKernel({ storage })
  t.teardown(close)
  t.notOk((await kernel.examine([], never)).some(({ about }) => about === 'server'))
})

t.test('what a tool puts out is told while it runs, where no secret may be in it', async t => {
  let told: boolean[] = []
  const talker = definePlugin({
    name: 'talker', slot: 'executor',
    setup: () => ({
      runtime: 'talk',
      async run (_task, observer) {
        observer.started('none')
        told.push(observer.output !== undefined)
        observer.output?.('one ')
        observer.output?.('two')
        return { status: 'success', output: 'one two three', output_truncated: false }
      }
    })
  })
  const tool = (name: string, secrets: string[]) =>
    ({ name, description: 'Talk', parameters: [], input_schema: { type: 'object' }, secrets })
  const skill = {
    name: 'talk', description: 'Talks', runtime: 'talk',
    permissions: { network: false, write: [], env: [], secrets: [] }, directory: '/', revision: '1', trusted: true,
    tools: [tool('open', []), tool('hushed', ['key'])]
  }
  const { kernel, close } = await startKernel({
    plugins: [talker, skillSource({ skills: [skill], quarantined: [] }, 'talks')]
  })
  t.teardown(close)
  const run = async (tool_name: string, parameters = {}): Promise<string> => {
    let id = ''
    const result = await kernel.gateway.invoke(
      execute,
      { skill_name: 'talk', tool_name, parameters },
      { transport: 'cli', signal: never, accepted: given => { id = given } }
    )
    t.equal(result.execution_id, id)
    return id
  }
  await run('open')
  const heard: object[] = []
  const stop = kernel.gateway.bus.on('output', event => { heard.push(event) })
  const execution_id = await run('open')
  t.same(heard, [{ execution_id, text: 'one ' }, { execution_id, text: 'two' }])
  await run('hushed', { key: 'a secret' })
  stop()
  await run('open')
  t.equal(heard.length, 2)
  t.same(told, [true, true, false, true])
})
