import t from 'tap'
import {
  definePlugin, execute, health, listSkills, searchSkills, type AnyPlugin, type Events, type LoadedSkills,
  type SkillDefinition
} from '../../../kernel/index.ts'
import { startKernel } from '../../support/kernel.ts'
import { skillOf } from '../../../plugins/testing/skill.ts'
import { until } from '../../../plugins/testing/until.ts'

const call = { transport: 'http' as const, signal: new AbortController().signal }
const door = definePlugin({ name: 'door', slot: 'transport', setup: () => ({}) })

const named = (name: string, description = name): SkillDefinition =>
  skillOf('inline', { name: 'go' }, { name, description }).skill

type Given = LoadedSkills | Error | Promise<LoadedSkills>

const fail = (): never => { throw new Error('there is no tool') }

/** A source under the test's hand: `give` tells the kernel, `set` does not. */
function source (name = 'source'): {
  plugin: AnyPlugin, give (loaded: Given): void, set (loaded: Given): void, watched: () => boolean, loads: () => number
} {
  let present: Given = { skills: [], quarantined: [] }
  let tell: (() => void) | undefined
  let loads = 0
  return {
    plugin: definePlugin({
      name,
      slot: 'skills',
      setup: () => ({
        async load (signal) {
          loads++
          if (present instanceof Error) throw present
          return await Promise.race([
            present,
            new Promise<never>((_, reject) => {
              signal.addEventListener('abort', () => { reject(new Error('aborted')) }, { once: true })
            })
          ])
        },
        watch (changed) {
          tell = changed
          return () => { tell = undefined }
        }
      })
    }),
    give (loaded) {
      present = loaded
      tell?.()
    },
    set (loaded) { present = loaded },
    watched: () => tell !== undefined,
    loads: () => loads
  }
}

t.test('changes of a source reach lists, calls, searches and the bus, by name; what fails keeps what there was', async t => {
  const hand = source()
  const finish: (() => void)[] = []
  const { kernel, close } = await startKernel({
    plugins: [hand.plugin, door],
    tools: { wait: { run: () => new Promise(resolve => { finish.push(() => { resolve('done') }) }) } }
  })
  const heard: Events['skills'][] = []
  kernel.gateway.bus.on('skills', event => { heard.push(event) })
  const names = async (): Promise<string[]> =>
    (await kernel.gateway.invoke(listSkills, {}, call)).skills.map(({ name }) => name)

  const one = named('one')
  hand.give({ skills: [one, named('two')], quarantined: [] })
  await until(() => heard.length === 1)
  t.same(await names(), ['one', 'subject', 'two'])
  await until(async () => (await kernel.gateway.invoke(searchSkills, { query: 'go' }, call)).results.length === 2)

  hand.give({
    skills: [structuredClone(one), named('two', 'another'), named('three')],
    quarantined: [{ name: 'four', path: '/four', error: 'broken' }],
    warnings: [{ name: 'one', path: '/one', warning: 'odd' }]
  })
  await until(() => heard.length === 2)
  hand.give({ skills: [one, named('two', 'another'), named('three')], quarantined: [] })
  await until(() => heard.length === 3)
  hand.give(new Error('the disk is gone'))
  hand.give({ skills: [named('three')], quarantined: [] })
  await until(() => heard.length === 4)
  t.same(heard, [
    { skills: 3, quarantined: 0, added: ['one', 'two'], changed: [], removed: [] },
    { skills: 4, quarantined: 1, added: ['three'], changed: ['two'], removed: [] },
    { skills: 4, quarantined: 0, added: [], changed: [], removed: [] },
    { skills: 2, quarantined: 0, added: [], changed: [], removed: ['one', 'two'] }
  ], 'an equal skill has not changed')
  t.match(await kernel.gateway.invoke(health, {}, call), { quarantined: [], warnings: [] })

  const running = kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name: 'wait', parameters: {} }, call)
  await until(() => finish.length === 1)
  hand.give({ skills: [named('subject', 'shadowed')], quarantined: [] })
  await until(() => heard.length === 5)
  finish[0]?.()
  t.match(await running, { status: 'success', output: 'done' })
  await close()
  t.notOk(hand.watched(), 'it is not watched any more')
})

t.test('a source that fails keeps no change of another, and is asked again by itself', async t => {
  const [failing, hanging, well] = [source('failing'), source('hanging'), source('well')]
  const { kernel, close } = await startKernel({ plugins: [failing.plugin, hanging.plugin, well.plugin, door] })
  t.teardown(close)
  const names = async (): Promise<string> =>
    (await kernel.gateway.invoke(listSkills, {}, call)).skills.map(({ name }) => name).join()
  failing.give(new Error('the disk is gone'))
  hanging.give(new Promise(() => {}))
  well.give({ skills: [named('well')], quarantined: [] })
  await until(async () => await names() === 'subject,well')
  t.equal(failing.loads(), 2, 'it was asked once before, and once now')
  failing.set({ skills: [named('back')], quarantined: [] })
  await until(async () => await names() === 'back,subject,well')
  t.pass('nothing told of its recovery')
})

t.test('skills that a source gives digests of are compared by them alone, all others in turns of the event loop', async t => {
  const hand = source()
  const { kernel, close } = await startKernel({ plugins: [hand.plugin, door] })
  t.teardown(close)
  const heard: Events['skills'][] = []
  kernel.gateway.bus.on('skills', event => { heard.push(event) })
  let compared = 0
  const tools = (): SkillDefinition['tools'] =>
    [{ ...named('tool').tools[0] ?? fail(), get description () { compared++; return 'a tool' } }]
  const digested = (digest: string): SkillDefinition => ({ ...named('digested'), digest, tools: tools() })
  hand.give({ skills: [digested('1')], quarantined: [] })
  await until(() => heard.length === 1)
  compared = 0
  hand.give({ skills: [digested('1')], quarantined: [{ name: 'x', path: '/x', error: 'broken' }] })
  await until(() => heard.length === 2)
  hand.give({ skills: [digested('2')], quarantined: [] })
  await until(() => heard.length === 3)
  t.same(heard.map(({ changed }) => changed), [[], [], ['digested']])
  t.equal(compared, 0, 'nobody looked into its tools')

  const large = (description: string): SkillDefinition[] => Array.from({ length: 60 }, (_, i) => {
    const [tool = fail()] = named('tool').tools
    return {
      ...named(`large-${i}`),
      tools: Array.from({ length: 1_000 }, (_, n) => ({
        ...tool,
        name: `tool-${n}`,
        input_schema: { type: 'object', properties: { a: { type: 'string' }, b: { enum: [1, 2, 3] } } },
        description
      }))
    }
  })
  hand.give({ skills: large('as it was'), quarantined: [] })
  await until(() => heard.length === 4)
  const same = large('as it was')
  let turns = 0
  let watching = true
  const turn = (): void => {
    turns++
    if (watching) setImmediate(turn)
  }
  hand.give({ skills: same, quarantined: [{ name: 'x', path: '/x', error: 'broken' }] })
  turn()
  await new Promise<void>(resolve => { kernel.gateway.bus.on('skills', () => { resolve() }) })
  watching = false
  t.same(heard.at(-1)?.changed, [])
  t.ok(turns > 5, `the event loop turned ${turns} times`)
})

t.test('a search that is slow to index, or fails to, holds up no change', async t => {
  const hand = source()
  const indexed: string[][] = []
  let hold: Promise<void> | undefined
  const search = definePlugin({
    name: 'search-slow',
    slot: 'search',
    setup: () => ({
      async index (skills) {
        indexed.push(skills.map(({ name }) => name))
        if (indexed.length === 3) throw new Error('no memory')
        await hold
      },
      search: async () => ({ mode: 'none', results: [] })
    })
  })
  const { kernel, close } = await startKernel({ plugins: [hand.plugin, door], search })
  t.teardown(close)
  let release: (() => void) | undefined
  hold = new Promise(resolve => { release = resolve })
  const size = async (): Promise<number> => (await kernel.gateway.invoke(listSkills, {}, call)).total
  for (let i = 1; i <= 3; i++) {
    hand.give({ skills: Array.from({ length: i }, (_, n) => named(`skill-${n}`)), quarantined: [] })
    await until(async () => await size() === i + 1)
  }
  t.equal(indexed.length, 2, 'the catalog did not wait')
  release?.()
  await until(() => indexed.length === 3)
  t.same(indexed.at(-1), ['skill-0', 'skill-1', 'skill-2', 'subject'], 'the newest, once')
  hand.give({ skills: [], quarantined: [] })
  await until(() => indexed.length === 4)
  t.same(indexed.at(-1), ['subject'], 'after a failure the next is indexed')
})

t.test('without a transport nothing is watched', async t => {
  const hand = source()
  const { close } = await startKernel({ plugins: [hand.plugin] })
  t.notOk(hand.watched())
  await close()
})
