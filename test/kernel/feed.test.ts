import t from 'tap'
import { definePlugin, execute, health, listSkills, searchSkills, type AnyPlugin, type Events, type LoadedSkills, type SkillDefinition } from '../../kernel/index.ts'
import { startKernel } from '../support/kernel.ts'
import { skillOf } from '../support/skill.ts'
import { until } from '../support/until.ts'

const call = { transport: 'http' as const, signal: new AbortController().signal }
const door = definePlugin({ name: 'door', slot: 'transport', setup: () => ({}) })

const named = (name: string, description = name): SkillDefinition => skillOf('inline', { name: 'go' }, { name, description }).skill

/** A source under the test's hand. */
function source (): { plugin: AnyPlugin, give (loaded: LoadedSkills | Error): void, watched: () => boolean } {
  let present: LoadedSkills | Error = { skills: [], quarantined: [] }
  let tell: (() => void) | undefined
  return {
    plugin: definePlugin({
      name: 'source',
      slot: 'skills',
      setup: () => ({
        async load () {
          if (present instanceof Error) throw present
          return present
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
    watched: () => tell !== undefined
  }
}

t.test('changes of a source reach lists, calls, searches and the bus, by name; what fails keeps what there was', async t => {
  const hand = source()
  const finish: (() => void)[] = []
  const { kernel, close } = await startKernel({ plugins: [hand.plugin, door], tools: { wait: { run: () => new Promise(resolve => { finish.push(() => { resolve('done') }) }) } } })
  const heard: Events['skills'][] = []
  kernel.gateway.bus.on('skills', event => { heard.push(event) })
  const names = async (): Promise<string[]> => (await kernel.gateway.invoke(listSkills, {}, call)).skills.map(({ name }) => name)

  const one = named('one')
  hand.give({ skills: [one, named('two')], quarantined: [] })
  await until(() => heard.length === 1)
  t.same(await names(), ['one', 'subject', 'two'])
  await until(async () => (await kernel.gateway.invoke(searchSkills, { query: 'go' }, call)).results.length === 2)

  hand.give({ skills: [structuredClone(one), named('two', 'another'), named('three')], quarantined: [{ name: 'four', path: '/four', error: 'broken' }], warnings: [{ name: 'one', path: '/one', warning: 'odd' }] })
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
