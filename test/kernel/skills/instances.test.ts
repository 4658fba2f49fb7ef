import t, { type Test } from 'tap'
import {
  compileAllows, execute, getSkill, listExecutions, listSkills, searchSkills, SkilletError, type Access,
  type JsonObject, type Kernel, type Operation
} from '../../../kernel/index.ts'
import { startKernel } from '../../support/kernel.ts'

const instances = (more: JsonObject = {}): JsonObject => ({
  skills: {
    config: { subject: { api: 'https://api', org: 'none' } },
    instances: { subject: { work: { config: { org: 'acme' } }, home: { description: 'My own', config: {} }, ...more } }
  }
})

async function start (t: Test, config: JsonObject): Promise<Kernel> {
  const tell = { run: (_: unknown, { config }: { config: JsonObject }) => JSON.stringify(config) }
  const { kernel, close } = await startKernel({ config, tools: { tell, drop: { run: () => 'gone' } } })
  t.teardown(close)
  return kernel
}

function accessOf (...patterns: string[]): Access {
  const allows = compileAllows(patterns)
  return { key: 'k', scopes: new Set(['read', 'execute']), ...(allows !== undefined && { allows }) }
}

type Asked = { output: JsonObject } | { code: string, details: JsonObject, message: string }

async function ask (kernel: Kernel, operation: Operation, input: object, access?: Access): Promise<Asked> {
  const signal = new AbortController().signal
  try {
    const call = { transport: 'test', signal, ...(access !== undefined && { access }) }
    return { output: await kernel.gateway.invoke(operation, input as JsonObject, call) as JsonObject }
  } catch (error) {
    const { code, details, message } = SkilletError.from(error)
    return { code, details, message }
  }
}

const run = (kernel: Kernel, skill_name: string, tool_name = 'tell', access?: Access): Promise<Asked> =>
  ask(kernel, execute as unknown as Operation, { skill_name, tool_name, parameters: {} }, access)
const op = (operation: unknown): Operation => operation as Operation

/** The names of skills in the history, newest first. */
async function history (kernel: Kernel, input: object = {}, access?: Access): Promise<unknown[]> {
  const asked = await ask(kernel, op(listExecutions), input, access)
  if (!('output' in asked)) throw new Error(asked.message)
  return (asked.output['executions'] as { skill_name: string }[]).map(({ skill_name }) => skill_name)
}

t.test('a call names the instance, and runs with its settings; the record and the history name it', async t => {
  const kernel = await start(t, instances())
  t.match(await run(kernel, 'subject@work'), { output: { output: '{"api":"https://api","org":"acme"}' } })
  t.match(await run(kernel, 'subject@home'), { output: { output: '{"api":"https://api","org":"none"}' } })
  t.match(await run(kernel, 'subject'), {
    code: 'INVALID_PARAMETERS', details: { instances: ['subject@home', 'subject@work'] }, message: /several instances/
  })
  t.match(await run(kernel, 'subject@wrok'), { code: 'SKILL_NOT_FOUND', message: /it has subject@home, subject@work/ })
  t.match(await run(kernel, 'subject@'), { code: 'SKILL_NOT_FOUND' })
  t.match(await run(kernel, 'subject@work', 'tlel'), { code: 'TOOL_NOT_FOUND', message: /"tell"/ })
  t.same(await history(kernel), ['subject@home', 'subject@work'])
  t.same(await history(kernel, { skill_name: 'subject@work' }), ['subject@work'])
  t.same(await history(kernel, { skill_name: 'subject' }), ['subject@home', 'subject@work'])
  t.same(await history(kernel, { skill_name: 'subj' }), [])
})

t.test('the plain name is the default, or the only instance', async t => {
  const kernel = await start(t, instances({ main: { default: true, config: { org: 'main' } } }))
  t.match(await run(kernel, 'subject'), { output: { output: /"main"/ } })
  t.same(await history(kernel), ['subject@main'], 'the record names what ran')
  const only = await start(t, { skills: { instances: { subject: { one: { config: { n: 1 } } } } } })
  t.match(await run(only, 'subject'), { output: { output: '{"n":1}' } })
  const two = { a: { default: true }, b: { default: true } }
  const starting = startKernel({ config: { skills: { instances: { subject: two } } } })
  await t.rejects(starting, /only one instance can be the default/)
  for (const name of ['Work', 'a@b', 'a:b', '', 'a'.repeat(65)]) {
    const config = { skills: { instances: { subject: { [name]: {} } } } }
    await t.rejects(startKernel({ config }), JSON.stringify(name))
  }
})

t.test('lists and searches show a tool once, with its instances', async t => {
  const kernel = await start(t, instances())
  const listed = [{ name: 'subject@home', description: 'My own' }, { name: 'subject@work' }]
  const skills = [{ name: 'subject', instances: listed }]
  t.match(await ask(kernel, op(listSkills), {}), { output: { total: 1, skills } })
  const one = await ask(kernel, op(getSkill), { name: 'subject@work' })
  t.match(one, { output: { name: 'subject@work', instances: undefined } })
  const found = await ask(kernel, op(searchSkills), { query: 'tell', skills: ['subject@work'] })
  const names = ['subject@home', 'subject@work']
  t.match(found, { output: { results: [{ skill_name: 'subject', tool_name: 'tell', instances: names }] } })
})

t.test('a key for one instance reaches no other, by no door', async t => {
  const kernel = await start(t, instances())
  for (const name of ['subject@work', 'subject@home']) {
    for (const tool of ['tell', 'drop']) await run(kernel, name, tool)
  }
  const work = accessOf('subject@work:tell')
  t.match(await run(kernel, 'subject@work', 'tell', work), { output: {} })
  t.match(await run(kernel, 'subject', 'tell', work), { output: { output: /acme/ } }, 'the only one that it may use')
  for (const [name, tool] of [
    ['subject@home', 'tell'], ['subject@work', 'drop'], ['subject', 'drop'], ['subject@other', 'tell'],
    ['other', 'tell']
  ] as const) t.match(await run(kernel, name, tool, work), { code: 'FORBIDDEN' }, `${name}:${tool}`)
  t.match(await ask(kernel, op(getSkill), { name: 'subject@home' }, work), { code: 'FORBIDDEN' })
  for (const name of ['subject', 'subject@work']) {
    const { output } = await ask(kernel, op(getSkill), { name }, work) as { output: JsonObject }
    t.match(output, { tools: [{ name: 'tell' }] })
    t.equal((output['tools'] as unknown[]).length, 1)
  }
  t.notMatch(JSON.stringify(await ask(kernel, op(listSkills), {}, work)), /home|own|drop/)
  t.notMatch(JSON.stringify(await ask(kernel, op(searchSkills), { query: 'drop tell' }, work)), /home|"drop"/)
  t.same(new Set(await history(kernel, { skill_name: 'subject' }, work)), new Set(['subject@work']))
  t.same(await history(kernel, { skill_name: 'subject@home' }, work), [])
  const mixed = accessOf('subject@work:tell', 'subject@home:drop')
  t.match(await run(kernel, 'subject@work', 'drop', mixed), { code: 'FORBIDDEN' })
  t.match(await run(kernel, 'subject@home', 'drop', mixed), { output: { output: 'gone' } })
  t.match(await run(kernel, 'subject', 'drop', mixed), { code: 'INVALID_PARAMETERS' })
  t.match(await run(kernel, 'subject@home', 'drop', accessOf('subject')), { output: { output: 'gone' } })
})
