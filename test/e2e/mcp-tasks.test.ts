import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { EventStream, keyTables, RawHttp, type Message } from '../support/mcp-http.ts'
import { makeHome, request, startServer } from '../support/program.ts'

t.setTimeout(120_000)
const home = await makeHome()
t.teardown(home.remove)
const fixtures = fileURLToPath(new URL('../../../test/fixtures/mcp-conformance/', import.meta.url))
for (const skill of ['tasks', 'asking']) {
  await cp(join(fixtures, skill), join(home.skills, skill), { recursive: true })
}
await mkdir(join(home.skills, 'wordy'))
await writeFile(join(home.skills, 'wordy', 'skill.toml'), `description = "Says much"
[[tools]]
name = "say"
description = "Say something"
command = ["echo", "said"]
annotations = { read_only = true }
[[tools]]
name = "change"
description = "Change something"
command = ["echo", "changed"]
annotations = { destructive = true }
`)
const keys = {
  own: { key: 'sk_of_the_owner' },
  blind: { key: 'sk_that_only_runs', settings: 'scopes = ["execute"]' },
  other: { key: 'sk_of_another' }
}
await writeFile(join(home.folder, 'skillet.toml'), `[mcp]
expose = ["wordy"]
task_after_ms = 500
task_only = ["tasks:fail"]
[mcp.names]
failing_job = "tasks:fail"
${keyTables(keys)}`)
const start = (): ReturnType<typeof startServer> => startServer(home, ['--auth-required', '--no-bundled-skills'])
let server = await start()
t.teardown(() => server.kill())
const headers = { 'x-api-key': keys.other.key }
await until(async () => {
  const { skills } = (await request(server.url, '/api/skills', undefined, { headers })).body as
    unknown as { skills: { name: string, tools: unknown[] }[] }
  return skills.some(({ name, tools }) => name === 'asking' && tools.length > 0)
})

const taking = { 'io.modelcontextprotocol/clientCapabilities': {
  elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} }
} }

/** The answer of a request, by a client that takes tasks or by another one. */
async function ask (
  method: string, params: object, { key = keys.own.key, meta = taking }: { key?: string, meta?: object } = {}
): Promise<Message> {
  const response = await new RawHttp(server.url, key).modern(method, params, meta)
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    return await response.json() as Message
  }
  const stream = new EventStream(response)
  await stream.ended
  return stream.messages.at(-1) ?? {}
}
const resultOf = async (method: string, params: object): Promise<Message> =>
  (await ask(method, params))['result'] as Message
const run = (tool_name: string, parameters: object, more: object = {}): Promise<Message> =>
  resultOf('tools/call', {
    name: 'execute', arguments: { skill_name: 'tasks', tool_name, parameters, ...more }
  })
const get = (taskId: unknown): Promise<Message> => resultOf('tasks/get', { taskId })
const ended = async (taskId: unknown): Promise<Message> => {
  let task = await get(taskId)
  await until(async () => !['working', 'input_required'].includes(String((task = await get(taskId))['status'])))
  return task
}
const listen = (taskIds: unknown, meta: object = taking): Promise<Response> =>
  new RawHttp(server.url, keys.own.key).modern('subscriptions/listen', { notifications: { taskIds } }, meta)
const states = ({ messages }: EventStream): unknown[] => messages.flatMap(({ method, params }) =>
  method === 'notifications/tasks' ? [(params as Message)['status']] : [])

t.test('a call that takes time is a task, which is the execution, and outlives the server', async t => {
  const first = await run('greet', { name: 'you' })
  const greeted = first['resultType'] === 'task' ? (await ended(first['taskId']))['result'] : first
  t.match(greeted, { content: [{ text: /Hello, you!/ }] })
  const created = await run('compute', { seconds: 2 }, { jmespath: 'no.json', max_output: 200 })
  t.match(created, {
    resultType: 'task', status: 'working', taskId: /^[0-9a-f-]{36}$/, ttlMs: 30 * 86_400_000, pollIntervalMs: 1_000
  })
  t.notOk(['result', 'error', 'inputRequests', 'requestState'].some(field => field in created))
  const { taskId } = created
  const stream = new EventStream(await listen([taskId, 'nobody', taskId]))
  t.match(await get(taskId), { taskId, status: 'working', resultType: 'complete' })
  await until(() => states(stream).length === 2)
  t.match(stream.messages[0], { params: { notifications: { taskIds: [taskId] } } }, 'what is followed is said')
  t.notMatch(stream.text, 'toolsListChanged')
  t.same(states(stream), ['working', 'completed'])
  const task = await get(taskId)
  t.match(task, { status: 'completed', result: { structuredContent: {
    execution_id: taskId, status: 'success', output: 'Computed for 2 s', note: /not JSON|JSON/
  } } }, 'the result is what the call would have answered, with its options')
  t.match((await request(server.url, `/api/executions/${String(taskId)}`, undefined, { headers })).body, {
    id: taskId, status: 'success', transport: 'mcp', key: 'own'
  })
  await server.kill()
  server = await start()
  t.match(await get(taskId), { status: 'completed', result: { structuredContent: { output: 'Computed for 2 s' } } })
})

t.test('a task belongs to the key that began it, and to clients that take tasks', async t => {
  const { taskId } = await run('compute', { seconds: 60 })
  const foreign = await Promise.all(['tasks/get', 'tasks/update', 'tasks/cancel'].map(method =>
    ask(method, { taskId, inputResponses: {} }, { key: keys.other.key })))
  const missing = await ask('tasks/get', { taskId: 'nobody' })
  for (const answer of foreign) {
    t.match(answer, { error: { code: -32_602 } })
    t.equal((answer['error'] as Message)['message'],
      String((missing['error'] as Message)['message']).replace('nobody', String(taskId)))
  }
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    t.match(await ask(method, { taskId }, { meta: {} }), { error: { code: -32_021, data: {
      requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    } } })
  }
  t.match(await (await listen([taskId], {})).json(), { error: { code: -32_021 } })
  const old = new RawHttp(server.url, keys.own.key)
  const session = await old.open()
  for (const method of ['tasks/get', 'tasks/list', 'tasks/result']) {
    const answers = await old.request(session, { jsonrpc: '2.0', id: 1, method, params: { taskId } })
    t.match(answers, [{ error: { code: -32_601 } }], 'revisions before have no tasks here')
  }
  t.match(await ask('tools/call', { name: 'failing_job', arguments: {} }, { meta: {} }), { error: { code: -32_021 } })
  const call = { name: 'execute', arguments: { skill_name: 'asking', tool_name: 'confirm_delete', parameters: {} } }
  const blind = { key: keys.blind.key }
  const asked = (await ask('tools/call', call, blind))['result'] as Message
  t.match(await ask('tasks/get', { taskId: asked['taskId'] }, blind), { result: { status: /working|input_required/ } },
    'who may run tools may see what comes of it')
  await ask('tasks/cancel', { taskId: asked['taskId'] }, blind)
  t.match(await resultOf('tasks/cancel', { taskId }), { resultType: 'complete' })
  t.match(await ended(taskId), { status: 'cancelled' })
  t.match(await resultOf('tasks/cancel', { taskId }), { resultType: 'complete' }, 'it may be cancelled again')
})

t.test('a task says how its tool ended', async t => {
  const [failing, hanging] = await Promise.all([
    resultOf('tools/call', { name: 'failing_job', arguments: {} }), run('hang', {})
  ])
  t.match(await ended(failing['taskId']), { status: 'completed', result: {
    isError: true, content: [{ text: /intentionally fails/ }]
  } })
  const failed = await ended(hanging['taskId'])
  t.match(failed, { status: 'failed', error: { code: -32_603, message: /time limit|1000 ms|1 s/, data: {
    error: { code: 'TIMEOUT' }
  } } })
  t.notOk('result' in failed)
})

t.test('a tool asks the client of its task', async t => {
  const call = { skill_name: 'asking', tool_name: 'multi_input', parameters: {} }
  const { taskId, resultType } = await resultOf('tools/call', { name: 'execute', arguments: call })
  t.equal(resultType, 'task', 'a question ends the wait for the result')
  const stream = new EventStream(await listen([taskId]))
  await until(async () => Object.keys((await get(taskId))['inputRequests'] ?? {}).length === 2)
  const [first = '', second = ''] = Object.keys((await get(taskId))['inputRequests'] ?? {})
  const answer = (key: string, name: string): Promise<Message> =>
    resultOf('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content: { name } } } })
  t.match(await answer('question-99', 'nobody'), { resultType: 'complete' }, 'an unknown question is ignored')
  await answer(first, 'Ann')
  t.same(Object.keys((await get(taskId))['inputRequests'] ?? {}), [second], 'what is answered is not asked again')
  await answer(first, 'Eve')
  await answer(second, 'Bob')
  t.match(await ended(taskId), { result: { structuredContent: { output: 'Ann and Bob' } } })
  await until(() => states(stream).includes('completed'))
  t.ok(states(stream).includes('input_required'))
})

t.test('a client that leaves before its call is a task cancels the run', async t => {
  const leaving = new AbortController()
  const call = { skill_name: 'tasks', tool_name: 'compute', parameters: { seconds: 60, label: 'left' } }
  const asked = fetch(`${server.url}/mcp`, {
    method: 'POST', signal: leaving.signal,
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-method': 'tools/call',
      'mcp-protocol-version': '2026-07-28', 'mcp-name': 'execute', authorization: `Bearer ${keys.own.key}`
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: {
      name: 'execute', arguments: call, _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' }, ...taking
      }
    } })
  }).catch(() => {})
  const newest = async (): Promise<Message | undefined> => {
    const { body } = await request(server.url, '/api/executions?tool_name=compute&limit=1', undefined, { headers })
    return (body['executions'] as Message[])[0]
  }
  const before = (await newest())?.['id']
  await until(async () => (await newest())?.['id'] !== before)
  leaving.abort()
  await asked
  await until(async () => (await newest())?.['status'] === 'cancelled')
  t.pass()
})

t.test('odd requests have clear answers', async t => {
  for (const taskId of [7, '', 'x'.repeat(257), null]) {
    t.match(await ask('tasks/get', { taskId }), { error: { code: /-32602|-32020/ } })
  }
  t.match(await ask('tasks/update', { taskId: 'nobody', inputResponses: {} }), { error: { code: -32_602 } })
  t.match(await ask('tasks/list', { cursor: 'odd' }), { error: { code: -32_601 } })
  for (const taskIds of ['one', [7], {}]) {
    t.match(await (await listen(taskIds)).json(), { error: { code: -32_602, message: /taskIds/ } })
  }
  const none = new EventStream(await listen(['nobody']))
  await none.ended
  t.match(none.messages[0], { params: { notifications: { taskIds: [] } } }, 'a stream of nothing ends at once')
  const greet = { name: 'execute', arguments: { skill_name: 'tasks', tool_name: 'greet', parameters: { name: 'you' } } }
  const called = await ask('tools/call', { ...greet, task: { ttl: -1 } }, { meta: {} })
  t.match(called, { result: { resultType: 'complete' } }, 'a time to live of an older revision is ignored')
})

t.test('what only reads has a tool of its own, and tools say what they do', async t => {
  const { tools } = await resultOf('tools/list', {}) as unknown as { tools: Message[] }
  const named = (name: string): Message => tools.find(tool => tool['name'] === name) ?? {}
  t.match(named('query')['annotations'], { readOnlyHint: true })
  t.match(named('execute')['annotations'], { readOnlyHint: false, destructiveHint: true })
  t.ok(tools.every(({ description, _meta }) =>
    String(description).length <= 2_048 && typeof (_meta as Message)['anthropic/maxResultSizeChars'] === 'number'))
  t.match(named('wordy_say'), { annotations: { readOnlyHint: true } })
  const query = (tool_name: string): Promise<Message> =>
    resultOf('tools/call', { name: 'query', arguments: { skill_name: 'wordy', tool_name, parameters: {} } })
  t.match(await query('say'), { structuredContent: { output: /said/ } })
  t.match(await query('change'), { isError: true, content: [{ text: /FORBIDDEN.*call execute/ }] })
  const reading = await ask('tools/call', {
    name: 'query', arguments: { skill_name: 'wordy', tool_name: 'say', parameters: {} }
  }, { key: keys.other.key })
  t.match(reading, { result: { structuredContent: { output: /said/ } } })
})

t.test('a client without a key finds the server', async t => {
  const catalog = await fetch(`${server.url}/.well-known/ai-catalog.json`)
  t.match(catalog.headers.get('content-type'), 'application/ai-catalog+json')
  const { entries } = await catalog.json() as { entries: { url: string, type: string }[] }
  t.equal(entries[0]?.url, `${server.url}/mcp/server-card`)
  const answer = await fetch(entries[0]?.url ?? '', { headers: { origin: 'https://other.example' } })
  t.equal(answer.headers.get('content-type'), entries[0]?.type)
  t.equal(answer.headers.get('access-control-allow-origin'), null, 'pages elsewhere do not learn what runs here')
  const card = await answer.json() as { name: string, description: string, remotes: { url: string }[] }
  t.match(card, { $schema: /\/v1\/server-card\.schema\.json$/, name: /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/ })
  t.ok(card.description.length <= 100)
  t.equal(card.remotes[0]?.url, `${server.url}/mcp`)
  const etag = answer.headers.get('etag') ?? ''
  t.equal((await fetch(entries[0]?.url ?? '', { headers: { 'if-none-match': etag } })).status, 304)
  t.equal((await fetch(entries[0]?.url ?? '', { method: 'POST', body: '' })).status, 405)
  t.equal((await fetch(`${server.url}/mcp`)).status, 401, 'what it leads to needs the key')
})
