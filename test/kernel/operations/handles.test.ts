import t, { type Test } from 'tap'
import {
  compileAllows, execute, getExecution, listExecutions, retryExecution, startRun, storeRun, type Call, type Execution,
  type JsonObject, type Kernel
} from '../../../kernel/index.ts'
import { startKernel, type TestTool } from '../../support/kernel.ts'
import { until } from '../../../plugins/testing/until.ts'

const signal = new AbortController().signal
const call: Call = { transport: 'http', signal }
const anything = [{ name: 'value', required: true, type: 'object' as const }]

const tools: Record<string, TestTool> = {
  people: { run: () => JSON.stringify({ people: [{ name: 'Ann' }, { name: 'Bob' }], age: 7 }) },
  big: { run: () => 'x'.repeat(5_000) },
  huge: { run: () => 'x'.repeat(15 * 1_048_576) },
  length: { run: ({ text }) => String(String(text).length), parameters: [{ name: 'text' }] },
  fail: { run: () => { throw new Error('out of luck') } },
  handle: { run: () => '{"$from": "execution://other/output"}' },
  upper: {
    run: ({ text, times }) => `${String(text).toUpperCase()} ${String(times)}`,
    parameters: [{ name: 'text', required: true }, { name: 'times', type: 'integer', default: 2 }]
  },
  secret: { run: ({ word }) => `got ${String(word).length}`, parameters: [{ name: 'word' }], secrets: ['word'] },
  count: { run: ({ list }) => String(Array.isArray(list)), parameters: [{ name: 'list', type: 'array' }] },
  echo: { run: ({ value }) => JSON.stringify(value), parameters: anything },
  hang: { run: (_, { signal }) => new Promise(resolve => { signal.addEventListener('abort', () => { resolve('') }) }) }
}

type Result = { execution_id: string, status: string, output: string }

async function start (t: Test, config: JsonObject = {}): Promise<{
  run: (tool_name: string, parameters?: JsonObject, more?: JsonObject, by?: Call) => Promise<Result>
  get: (id: string) => Promise<Execution>
  gateway: Kernel['gateway']
}> {
  const { kernel: { gateway }, close } = await startKernel({ tools, config })
  t.teardown(close)
  return {
    gateway,
    run: (tool_name, parameters = {}, more = {}, by = call) =>
      gateway.invoke(execute, { skill_name: 'subject', tool_name, parameters, ...more }, by),
    get: id => gateway.invoke(getExecution, { id }, call)
  }
}

const from = (id: string, select?: string): JsonObject =>
  ({ $from: `execution://${id}/output`, ...(select !== undefined && { select }) })

t.test('a handle stands for an output, and the record keeps the handle', async t => {
  const { run, get, gateway } = await start(t, { execution: { output_bytes_max: 1024 } })
  const people = (await run('people')).execution_id
  const big = (await run('big')).execution_id
  t.match(await get(big), { output_truncated: true, output_file_bytes: 5_000 })
  const whole = await run('upper', { text: from(big) })
  t.match(whole.output, /^X{1024}\n\[output truncated: 1024 of 5002 bytes kept; all of it: execution:.*\]$/)
  const name = await run('upper', { text: from(people, 'people[1].name'), times: from(people, 'age') })
  t.equal(name.output, 'BOB 7')
  t.equal((await run('count', { list: from(people, 'people') })).output, 'true')
  const linked = { $from: `skillet://executions/${people}/output`, select: '@' }
  t.equal((await run('echo', { value: linked })).output, (await get(people)).output, 'the address of the MCP resource')
  const given = { text: from(people, 'people[0].name'), times: 2 }
  const { execution_id: id, output } = await run('upper', { text: given.text })
  t.equal(output, 'ANN 2')
  t.same((await get(id)).parameters, given, 'with the default value')
  const again = await gateway.invoke(retryExecution, { id, parameters: { times: 3 } }, call)
  t.match(again, { status: 'success', output: 'ANN 3' })
  t.match(await get(again.execution_id), { origin: id, parameters: { text: given.text, times: 3 } })
  const failed = await run('fail').catch(({ details }: { details: { execution_id: string } }) => details.execution_id)
  t.equal((await run('upper', { text: from(String(failed)) })).output, ' 2', 'what a failed one had put out: nothing')
})

t.test('an output is data, also where it looks like a handle; and an object can be passed on as it is', async t => {
  const { run, get } = await start(t)
  const { execution_id: id } = await run('handle')
  t.equal((await run('echo', { value: from(id, '@') })).output, '{"$from":"execution://other/output"}')
  const inner = { deeper: { $from: 'execution://other/output' } }
  t.same(JSON.parse((await run('echo', { value: inner })).output), inner, 'below a parameter there are no handles')
  for (const value of [{ $from: 1 }, { $literal: { $from: 1 } }]) {
    const { execution_id, output } = await run('echo', { value: { $literal: value } })
    t.same(JSON.parse(output), value)
    t.same((await get(execution_id)).parameters, { value: { $literal: value } }, 'a retry means the same')
  }
  for (const value of [{ $literal: 1 }, { $literal: { $from: 1 }, more: 1 }, { $literal: { from: 1 } }]) {
    t.same(JSON.parse((await run('echo', { value })).output), value, 'nothing to escape')
  }
})

t.test('each bad handle has its answer, and nothing runs', async t => {
  const { run, gateway } = await start(t, { execution: { handle_bytes_max: 100, drain_ms: 0 } })
  const people = (await run('people')).execution_id
  const big = (await run('big')).execution_id
  const hangs = (await run('hang', {}, { asynchronous: true })).execution_id
  const bad: [JsonObject, string, RegExp][] = [
    [from('missing'), 'EXECUTION_NOT_FOUND', /no execution "missing"/],
    [from(hangs), 'CONFLICT', /is (queued|running); its output is there when it has ended/],
    [from(big), 'INVALID_PARAMETERS', /^parameters\/text: the output has 5000 bytes.*handle_bytes_max/],
    [from(people, 'people['), 'INVALID_PARAMETERS', /^parameters\/text\/select: jmespath is not valid/],
    [from(people, 'nobody'), 'INVALID_PARAMETERS', /^parameters\/text\/select gives nothing/],
    [from(people, 'people'), 'INVALID_PARAMETERS', /text must be string/],
    [from(people, ''), 'INVALID_PARAMETERS', /^parameters\/text is no handle/],
    [{ $from: people }, 'INVALID_PARAMETERS', /^parameters\/text is no handle; write/],
    [{ $from: 'execution://../output' }, 'EXECUTION_NOT_FOUND', /no execution/],
    [{ $from: null }, 'INVALID_PARAMETERS', /must be string.*\$literal/],
    [{ ...from(people), extra: 1 }, 'INVALID_PARAMETERS', /unknown field "extra"/]
  ]
  const history = async (): Promise<number> => 
    (await gateway.invoke(listExecutions, {}, call)).total
  const before = await history()
  for (const [text, code, message] of bad) {
    await t.rejects(run('upper', { text }), { code, message }, JSON.stringify(text))
  }
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`p${i}`, from(people)]))
  await t.rejects(run('upper', many), { code: 'INVALID_PARAMETERS', message: /17 handles; a call may have 16/ })
  await t.rejects(run('nothing', { text: from('x') }), { code: 'TOOL_NOT_FOUND' })
  t.equal(await history(), before, 'no execution exists')
})

t.test('what outputs take is given back, whether a call runs or is refused', async t => {
  const { run } = await start(t)
  const { execution_id: id } = await run('huge')
  for (let i = 0; i < 9; i++) { // twice 15 MiB each: together more than all calls may hold
    t.equal((await run('length', { text: from(id) })).output, String(15 * 1_048_576))
    await t.rejects(run('count', { list: from(id) }), { code: 'INVALID_PARAMETERS', message: /must be array/ })
  }
})

t.test('a handle needs the right to read that execution', async t => {
  const { run } = await start(t)
  const { execution_id: id } = await run('people')
  const allows = compileAllows(['subject:upper'])
  const scopes = new Set(['read', 'execute'] as const)
  const narrow: Call = { ...call, access: { key: 'narrow', scopes, ...(allows && { allows }) } }
  await t.rejects(run('upper', { text: from(id) }, {}, narrow), { code: 'EXECUTION_NOT_FOUND' }, 'as a missing one')
  const own = await run('upper', { text: 'mine' }, {}, narrow)
  t.equal((await run('upper', { text: from(own.execution_id) }, {}, narrow)).output, 'MINE 2 2')
  const blind: Call = { ...call, access: { key: 'blind', scopes: new Set(['execute'] as const) } }
  await t.rejects(run('upper', { text: from(id) }, {}, blind), { code: 'FORBIDDEN', details: { scope: 'read' } })
  t.equal((await run('upper', { text: 'a' }, {}, blind)).output, 'A 2')
})

t.test('asynchronous runs, keys and secrets take handles', async t => {
  const { run, get, gateway } = await start(t)
  const { execution_id: id } = await run('people')
  const text = from(id, 'people[0].name')
  const later = await run('upper', { text }, { asynchronous: true })
  await until(async () => (await get(later.execution_id)).status === 'success')
  t.match(await get(later.execution_id), { output: 'ANN 2', queue: { resumable: true }, parameters: { text } })
  const once = { idempotency_key: 'once' }
  const first = await run('upper', { text }, once)
  t.equal((await run('upper', { text }, once)).execution_id, first.execution_id)
  await t.rejects(run('upper', { text: from(id, 'people[1].name') }, once), { code: 'CONFLICT' })
  const secret = await run('secret', { word: from(id, 'people[0].name') })
  t.match(await get(secret.execution_id), { output: 'got 3', parameters: { word: '[secret]' } })
  const stored = await gateway.invoke(
    storeRun, { skill_name: 'subject', tool_name: 'upper', parameters: { text }, asynchronous: true }, call
  )
  t.match(await get(stored.execution_id), { status: 'queued', parameters: { text } })
  const started = await gateway.invoke(startRun, { id: stored.execution_id }, call)
  t.match(started, { status: 'success', output: 'ANN 2', parameters: { text } }, 'as another process does it')
})
