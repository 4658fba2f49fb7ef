import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { LoggingMessageNotificationSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { callTool, connect, execute, RawAgent, textOf } from '../support/mcp.ts'
import { writeMcpSkills } from '../support/mcp-skills.ts'
import { makeHome, node, program, request, startServer } from '../support/program.ts'
import { below } from '../support/processes.ts'
import { until } from '../../plugins/testing/until.ts'

const home = await makeHome()
t.teardown(home.remove)
await writeMcpSkills(home.skills)
const server = await startServer(home)
t.teardown(server.kill)

/** The doors, and a client at each. The history is one: all of them write to the same data directory. */
const doors = {
  stdio: () => new StdioClientTransport({
    command: node, args: [program, 'mcp'], env: home.env as Record<string, string>, cwd: home.folder, stderr: 'ignore'
  }) as Transport,
  // Its types are older than the compiler's strictness.
  'Streamable HTTP': () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)) as Transport,
  'HTTP with SSE': () => new SSEClientTransport(new URL(`${server.url}/sse`)) as Transport
}

const recordOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(server.url, `/api/executions/${id}`)).body
const statusOf = async (tool: string): Promise<unknown> =>
  ((await request(server.url, `/api/executions?tool_name=${tool}&limit=1`)).body['executions'] as {
    status: string
  }[])[0]?.status

/** More than any tokenizer makes of it: a token for every few letters, and one for every sign. */
const tokensOf = (text: string): number => text.match(/[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d"]+"?|"/g)?.length ?? 0

for (const [door, open] of Object.entries(doors)) {
  t.test(door, async t => {
    const { client, errors } = await connect(open())
    t.teardown(() => client.close())
    await t.test('four tools, in few words', t => listsTools(t, client))
    await t.test('skills are listed, found and run', t => runsSkills(t, client))
    await t.test('what fails says what would have been right', t => fails(t, client))
    await t.test('an output is what was asked of it', t => cuts(t, client))
    await t.test('instructions and files of skills are resources, and a prompt', t => readsSkills(t, client))
    if (door === 'stdio') await t.test('soon it searches by meaning too', t => searchesByMeaning(t, client))
    if (door === 'stdio') await t.test('fifty calls at once keep their order and identity', t => runsMany(t, client))
    await t.test('a running tool is heard, and ended by who called it', t => reports(t, client))
    t.same(errors, [], 'whatever tools print, the client reads nothing but the protocol')
  })
}

async function listsTools (t: Test, client: Client): Promise<void> {
  const { tools } = await client.listTools()
  t.same(tools.map(({ name }) => name).sort(), ['execute', 'list_skills', 'query', 'search_skills'])
  const tokens = tokensOf(JSON.stringify(tools))
  t.ok(tokens < 2_000, `${tokens} tokens at most`)
  for (const { title, description, annotations, inputSchema, outputSchema } of tools) {
    t.ok(title && description && annotations && inputSchema && outputSchema)
  }
}

async function runsSkills (t: Test, client: Client): Promise<void> {
  const listed = await callTool(client, 'list_skills', { limit: 2, detail: 'tools' })
  t.match(listed.structuredContent, {
    skills: [{ name: 'command', tools: [{ name: 'descriptors' }, { name: 'sleep' }] }, { name: 'data' }],
    total: Number,
    next_offset: 2
  })
  const names = await callTool(client, 'skillet/list_skills', {})
  const { skills } = names.structuredContent as { skills: Record<string, unknown>[] }
  t.ok(skills.every(skill => Object.keys(skill).join() === 'name,description'), 'compact by default')
  const found = await callTool(client, 'search_skills', { query: 'count the words of a text', top_k: 3 })
  const { results, mode } = found.structuredContent as { results: unknown[], mode: string }
  t.ok(['hybrid', 'lexical'].includes(mode), 'an agent learns by what method it was answered')
  t.match(results[0], { skill_name: 'text', tool_name: 'count', parameters: ['text string required: The text'] })

  const ran = await execute(client, 'trial', 'echo', { text: 'hé 👋' })
  t.match(ran.structuredContent, { status: 'success', output: 'hé 👋', execution_id: String })
  t.same(JSON.parse(textOf(ran)), ran.structuredContent, 'the text says the same')
  t.match(await recordOf(String(ran.structuredContent?.['execution_id'])), { transport: 'mcp', output: 'hé 👋' })
  t.match(
    (await callTool(client, 'skillet/execute', {
      skill_name: 'trial', tool_name: 'echo', parameters: { text: 'x' }
    })).structuredContent,
    { output: 'x' },
    'by its full name'
  )
  t.match((await execute(client, 'trial', 'print')).structuredContent, { status: 'success', output: /returned/ })
  const { structuredContent } = await execute(client, 'command', 'descriptors')
  hasNoWayOut(t, structuredContent?.['output'])
}

async function searchesByMeaning (t: Test, client: Client): Promise<void> {
  let found: Record<string, unknown> = {}
  await until(async () => {
    found = (await callTool(client, 'search_skills', { query: 'whose fault is this bug' })).structuredContent ?? {}
    return found['mode'] === 'hybrid'
  })
  t.match(found['results'], [{ skill_name: 'git', tool_name: 'blame' }])
}

/**
 * What a command said of its descriptors: it has its own output, and neither a way to the client nor the server's
 * files.
 */
function hasNoWayOut (t: Test, output: unknown): void {
  t.match(output, /^out/)
  t.notMatch(output, /\b([3-9]|\d\d+) -> (socket:|.*\.mdb)/)
  t.notMatch(output, /wrote to/)
}

async function fails (t: Test, client: Client): Promise<void> {
  const envelopeOf = async (...args: Parameters<typeof execute> extends [unknown, ...infer Rest]
    ? Rest
    : never): Promise<{ error: { code: string, message: string }, success: boolean }> => {
    const result = await execute(client, ...args)
    t.equal(result.isError, true)
    return JSON.parse(textOf(result)) as { error: { code: string, message: string }, success: boolean }
  }
  t.match(await envelopeOf('trial', 'echo', { txt: 'x' }), {
    error: { code: 'INVALID_PARAMETERS', message: /text string required: The text/ },
    success: false
  })
  t.match(await envelopeOf('tria', 'echo'), {
    error: { code: 'SKILL_NOT_FOUND', message: /did you mean "trial"\?[\s\S]*search_skills/ }
  })
  t.match(await envelopeOf('trial', 'ecko'), {
    error: { code: 'TOOL_NOT_FOUND', message: /did you mean "echo"\?[\s\S]*echo, print, report/ }
  })
  t.match(await envelopeOf('trial', 'fail'), {
    error: { code: 'TOOL_EXECUTION_FAILED', message: /out of luck[\s\S]*skillet:\/\/executions/ }
  })
  t.match(await envelopeOf('trial', 'echo', { text: 'x' }, { max_outptu: 5 }), {
    error: { code: 'INVALID_PARAMETERS', message: /did you mean "max_output"/ }
  })
  t.match(await envelopeOf('trial', 'echo', { text: 'x' }, { grep: '(' }), {
    error: { code: 'INVALID_PARAMETERS', message: /^grep is not valid/ }
  })
  t.match(await envelopeOf('trial', 'echo', { text: 'x' }, { jmespath: '[' }), {
    error: { code: 'INVALID_PARAMETERS', message: /^jmespath is not valid/ }
  })
  await t.rejects(callTool(client, 'exekute', {}), { code: -32602, message: /did you mean "execute"/ })
}

async function cuts (t: Test, client: Client): Promise<void> {
  const whole = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join('\n')
  const usual = await execute(client, 'trial', 'long', { lines: 5_000 })
  const output = String(usual.structuredContent?.['output'])
  t.ok(output.length <= 20_000 && output.startsWith('line 0\n') && /\[… \d+ characters left out …\]$/.test(output))
  const link = usual.content.find(({ type }) => type === 'resource_link')
  t.match(link, { uri: /^skillet:\/\/executions\/[^/]+\/output$/ })
  const uri = link?.type === 'resource_link' ? link.uri : ''
  t.match(usual.structuredContent?.['note'], uri, 'the note names it too')
  const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents[0]
  t.same(await read(uri), { uri, mimeType: 'text/plain', text: whole })
  t.match(await read(`${uri}?offset=10&length=25`), { text: whole.slice(10, 35) })
  await t.rejects(read(uri.replace(/executions\/[^/]+/, 'executions/none')), { code: -32602 })
  const middle = await execute(client, 'trial', 'long', { lines: 5_000 }, { max_output: 300, truncate: 'middle' })
  t.match(middle.structuredContent, { output: /^line 0\n[\s\S]*left out …\][\s\S]*line 4999$/ })
  t.match((await execute(client, 'trial', 'long', { lines: 5_000 }, { grep: '^line 42[0-9]$' })).structuredContent, {
    output: Array.from({ length: 10 }, (_, i) => `line 42${i}`).join('\n'),
    note: /selected/
  })
  t.match(
    (await execute(client, 'trial', 'json', {}, { jmespath: 'people[?age > `8`].name | [0]' })).structuredContent,
    { output: 'Bob' }
  )
  t.match((await execute(client, 'trial', 'echo', { text: 'no JSON' }, { jmespath: 'a' })).structuredContent, {
    output: 'no JSON',
    note: /not JSON/
  })
}

async function readsSkills (t: Test, client: Client): Promise<void> {
  const { resources } = await client.listResources()
  t.match(resources.find(({ uri }) => uri === 'skill://text/SKILL.md'), {
    name: 'text', description: String, mimeType: 'text/markdown'
  })
  const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents[0]
  t.match(await read('skill://text/SKILL.md'), { text: /^---\nname: text\n[\s\S]*# / })
  t.match(
    await read('skill://trial/SKILL.md'),
    { text: /^---\nname: trial\ndescription: "Tools that try a protocol"\n[\s\S]*## echo\n\nEcho a text\n\n- text string required: The text/ },
    'one without instructions is described by its tools'
  )
  t.match(await read('skill://trial/references/guide.md'), { text: '# Guide\n' })
  for (const path of [
    'references/out', 'references/../skill.js', 'references/%2e%2e/skill.js', 'skill.js', 'references',
    'references/none'
  ]) {
    await t.rejects(read(`skill://trial/${path}`), { code: -32602 }, path)
  }

  const found = async (
    ref: { type: 'ref/prompt', name: string } | { type: 'ref/resource', uri: string },
    name: string,
    value: string
  ): Promise<string[]> => (await client.complete({ ref, argument: { name, value } })).completion.values
  t.same(await found({ type: 'ref/prompt', name: 'use_skill' }, 'skill', 'tri'), ['trial'])
  t.same(await found({ type: 'ref/resource', uri: 'skill://{+path}' }, 'path', 'tria'), ['trial/SKILL.md'])
  t.match(await client.getPrompt({ name: 'use_skill', arguments: { skill: 'text', task: 'Count words' } }), {
    messages: [
      { content: { text: /Count words/ } },
      { content: { resource: { uri: 'skill://text/SKILL.md', text: /name: text/ } } }
    ]
  })
  await t.rejects(client.getPrompt({ name: 'use_skill', arguments: { skill: 'txt' } }), {
    code: -32602,
    message: /did you mean "text"/
  })

  const { skills } = await client.request({ method: 'skills/list' }, ResultSchema) as unknown as {
    skills: { uri: string, resources: { uri: string, size: number, digest: string }[] }[]
  }
  const entry = skills.find(({ uri }) => uri === 'skill://trial/SKILL.md')
  t.match(entry?.resources.find(({ uri }) => uri === 'skill://trial/references/guide.md'), {
    size: 8,
    digest: /^sha256:/
  })
  t.same(await client.request({ method: 'skills/get', params: { uri: entry?.uri } }, ResultSchema), { skill: entry })
}

async function runsMany (t: Test, client: Client): Promise<void> {
  const texts = Array.from({ length: 50 }, (_, i) => `call ${i}`)
  const results = await Promise.all(texts.map(text => execute(client, 'trial', 'echo', { text })))
  t.same(results.map(({ structuredContent }) => structuredContent?.['output']), texts)
  const ids = results.map(({ structuredContent }) => String(structuredContent?.['execution_id']))
  t.equal(new Set(ids).size, 50)
  t.same(ids, ids.toSorted(), 'they began in the order they were asked for')
  // What takes long keeps nothing behind it waiting.
  const ends: number[] = []
  await Promise.all([8_000, 0, 1, 2].map(async for_ms => {
    if ((
      await execute(client, 'trial', 'wait', { for_ms })).structuredContent?.['output'] === 'waited'
    ) ends.push(for_ms)
  }))
  t.same([ends.length, ends.at(-1)], [4, 8_000])
}

async function reports (t: Test, client: Client): Promise<void> {
  const progress: number[] = []
  const lines: unknown[] = []
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { lines.push(params.data) })
  await client.setLoggingLevel('info')
  // The SDK's client takes progress that comes in one piece with the answer for nobody's: the tool waits until it was
  // heard.
  const file = join(home.folder, `heard-${randomUUID()}`)
  const onprogress = ({ progress: done }: { progress: number }): void => {
    progress.push(done)
    if (done === 100) writeFileSync(file, '')
  }
  t.match((await execute(client, 'trial', 'report', { file }, {}, { onprogress })).structuredContent, {
    output: 'reported'
  })
  t.same([progress[0], progress.at(-1)], [0, 100])
  t.ok(progress.every((done, i) => i === 0 || done > (progress[i - 1] ?? 0)), 'it only ever increases')
  await until(() => lines.length > 0)
  t.same(lines, ['a line'], 'of the level that was asked for')

  const leaving = new AbortController()
  const waiting = execute(client, 'trial', 'wait', {}, {}, { signal: leaving.signal })
  await until(async () => await statusOf('wait') === 'running')
  leaving.abort()
  await t.rejects(waiting)
  await until(async () => await statusOf('wait') === 'cancelled')
}

t.test('lines that are no messages are answered and passed over, and tools can be exposed; the end of the input ends it', async t => {
  const agent = new RawAgent(home, ['--mcp-expose', 'trial:p*', '--mcp-expose', 'git:log'])
  t.teardown(() => agent.child.kill('SIGKILL'))
  agent.initialize('2025-03-26')
  agent.send(
    'garbage', '', '{"jsonrpc":"2.0","id":1', '\u0000', '5', '[]', '{"id":7}', '['.repeat(100), 'x'.repeat(5_000_000), {
      jsonrpc: '2.0', id: 8, method: 'nothing'
    }
  )
  agent.send([
    { jsonrpc: '2.0', id: 'a', method: 'ping' },
    { jsonrpc: '2.0', method: 'notifications/none' },
    7,
    { jsonrpc: '2.0', id: 'b', method: 'ping' }
  ])
  agent.call(9, 'trial', 'print')
  await until(() => agent.answer(9) !== undefined && agent.answer('b') !== undefined)
  t.match(agent.answer('init'), { result: { protocolVersion: '2025-03-26' } })
  t.match(agent.answer(7), { error: { code: -32600 } })
  t.match(agent.answer(8), { error: { code: -32601 } })
  t.match(agent.answer(9), { result: { structuredContent: { status: 'success' } } })
  const refused = agent.messages.filter(({ id }) => id === null).map(({ error }) => (error as { code: number }).code)
  t.same(refused.sort(), [-32600, -32600, -32600, -32600, -32700, -32700, -32700, -32700].sort())
  t.ok(
    agent.lines.some(line => line.startsWith('[') && line.includes('"a"') && line.includes('"b"')),
    'a batch is answered as one'
  )

  const callDirect = (id: number, name: string, parameters: object): void => {
    agent.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: parameters } })
  }
  agent.send({ jsonrpc: '2.0', id: 20, method: 'tools/list' })
  callDirect(21, 'trial_picture', {})
  callDirect(22, 'git_log', { repositroy: '.' })
  callDirect(23, 'trial_echo', { text: 'x' })
  await until(() => [20, 21, 22, 23].every(id => agent.answer(id) !== undefined))
  const { result } = agent.answer(20) as { result: { tools: { name: string }[] } }
  const { tools } = result
  t.same(tools.map(({ name }) => name).sort(), [
    'execute', 'git_log', 'list_skills', 'query', 'search_skills', 'trial_picture', 'trial_print'
  ])
  t.match(
    tools.find(({ name }) => name === 'git_log'),
    { inputSchema: { type: 'object', properties: { repository: { anyOf: [{ type: 'string' }, { type: 'null' }] } } } },
    'what may be left out may be null'
  )
  t.same(
    agent.answer(21)?.['result'],
    { content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] },
    'a tool may answer in the terms of the protocol'
  )
  t.match(agent.answer(22), { result: {
    isError: true,
    content: [{ text: /did you mean[\s\S]*Parameters of git:log:[\s\S]*- repository string/ }]
  } })
  t.match(agent.answer(23), { error: { code: -32602 } }, 'others are not exposed')

  agent.call(30, 'command', 'sleep', { seconds: 0.3 })
  agent.child.stdin?.end()
  await agent.ended
  t.equal(agent.child.exitCode, 0)
  t.match(agent.answer(30), { result: { structuredContent: { status: 'success' } } }, 'what was asked is answered')
  t.match(agent.stderr, 'printed by descriptor', 'what a tool prints by descriptor goes to standard error')
})

t.test('where no compiler built the helper, a command has no way to the client either', async t => {
  const config = join(home.folder, 'node-helper.toml')
  writeFileSync(config, '[plugin.executor-native]\nhelper = "node"\n')
  const agent = new RawAgent(home, ['--config', config])
  t.teardown(() => agent.child.kill('SIGKILL'))
  agent.initialize()
  agent.call(1, 'command', 'descriptors')
  agent.call(2, 'trial', 'print')
  await until(() => agent.answer(1) !== undefined && agent.answer(2) !== undefined)
  const { result } = agent.answer(1) as { result: { structuredContent: { output: string } } }
  hasNoWayOut(t, result.structuredContent.output)
  t.match(agent.answer(2), { result: { structuredContent: { output: /returned/ } } })
  agent.child.stdin?.end()
  await agent.ended
  t.equal(agent.messages.filter(({ id }) => id !== undefined).length, 3, 'every line was a message')
})

const isAlive = (pid: number): boolean => spawnSync('kill', ['-0', String(pid)], { stdio: 'ignore' }).status === 0
for (const [how, end] of [
  ['SIGTERM', (agent: RawAgent) => agent.child.kill('SIGTERM')],
  ['the death of what the client started', (agent: RawAgent) => agent.child.kill('SIGKILL')]
] as const) {
  t.test(`${how} ends it with its children`, async t => {
    const agent = new RawAgent(home)
    agent.initialize()
    agent.call(1, 'command', 'sleep', { seconds: 3600 })
    agent.send({
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: {
        name: 'execute',
        arguments: { skill_name: 'trial', tool_name: 'echo', parameters: { text: 'x' }, grep: 'x' }
      }
    })
    await until(async () => agent.answer(2) !== undefined && await statusOf('sleep') === 'running')
    const processes = below(Number(agent.child.pid))
    t.ok(processes.length >= 4, 'the one that speaks, the command and who started it, and the one that selects')
    end(agent)
    await agent.ended
    await until(() => !processes.some(isAlive))
    await until(async () => ['cancelled', 'interrupted'].includes(String(await statusOf('sleep'))))
  })
}

t.test('sessions are their client\'s own, and requests are checked as all others', async t => {
  const post = (message: unknown, headers: Record<string, string> = {}, path = '/mcp'): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      method: 'POST', body: typeof message === 'string' ? message : JSON.stringify(message),
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
    })
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  }
  const opened = await post(initialize)
  const id = opened.headers.get('mcp-session-id') ?? ''
  t.match(await opened.text(), '"protocolVersion":"2025-06-18"')
  const session = { 'mcp-session-id': id }
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
  t.equal((await post(ping, session)).status, 200)
  t.equal((await post(ping, { 'mcp-session-id': 'none' })).status, 404)
  t.equal((await post(ping)).status, 400, 'a session begins with initialize')
  t.equal((await post(ping, {}, '/messages?sessionId=none')).status, 404)
  for (const [headers, status] of [
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'http://localhost:6274' }, 200]
  ] as const) {
    t.equal((await post(ping, { ...session, ...headers })).status, status)
  }
  for (const path of ['/mcp', '/sse']) {
    t.equal(
      (await fetch(`${server.url}${path}`, {
        headers: { origin: 'http://evil.example', accept: 'text/event-stream' }
      })).status,
      403
    )
  }
  for (const [body, code] of [['{', -32700], ['['.repeat(100), -32700]] as const) {
    const refused = await post(body, session)
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { code } })
  }
  t.equal((await post(ping, { ...session, 'content-type': 'text/plain' })).status, 415)
  t.equal((await post(`{"a":"${'x'.repeat(1_048_576)}"}`, session)).status, 413)

  // The answer to a call whose connection was lost is there for who asks for what came after the last event.
  const losing = new AbortController()
  const call = await fetch(`${server.url}/mcp`, {
    method: 'POST', signal: losing.signal,
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25', ...session
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 3,
      method: 'tools/call',
      params: { name: 'execute', arguments: { skill_name: 'trial', tool_name: 'wait', parameters: { for_ms: 300 } } }
    })
  })
  const reader = call.body?.pipeThrough(new TextDecoderStream()).getReader()
  let begun = ''
  while (!/^id: /m.test(begun)) begun += (await reader?.read())?.value ?? t.fail('the stream ended')
  losing.abort()
  await until(async () => await statusOf('wait') === 'success')
  const again = await fetch(`${server.url}/mcp`, {
    headers: { accept: 'text/event-stream', 'last-event-id': /^id: (.*)$/m.exec(begun)?.[1] ?? '', ...session }
  })
  t.match(await again.text(), /data: .*"waited/)

  t.equal((await fetch(`${server.url}/mcp`, { method: 'DELETE', headers: session })).status, 200)
  t.equal((await post(ping, session)).status, 404)

  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' }
  }
  const modern = (method: string, params: object, headers: Record<string, string> = {}): Promise<Response> => post(
    { jsonrpc: '2.0', id: 4, method, params: { ...params, _meta: envelope } },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers }
  )
  t.match(await (await modern('server/discover', {})).json(), {
    result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
  })
  const name = 'execute'
  t.match(
    await (await modern(
      'tools/call',
      { name, arguments: { skill_name: 'trial', tool_name: 'echo', parameters: { text: 'new' } } },
      { 'mcp-name': name }
    )).json(),
    { result: { structuredContent: { output: 'new' } } }
  )
})

t.test('the server tells an agent to stop only when its calls are answered, and streams do not hold it', async t => {
  const { client } = await connect(doors['Streamable HTTP']())
  t.teardown(() => client.close())
  const answer = execute(client, 'command', 'sleep', { seconds: 0.5 })
  await until(async () => await statusOf('sleep') === 'running')
  const stopped = server.stop()
  t.match((await answer).structuredContent, { status: 'success' })
  t.equal(await stopped, 0)
})
