import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema
} from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { callTool, textOf } from '../support/mcp.ts'
import { answerInTerminal, hasTerminals } from '../support/pty.ts'
import { execute, makeHome, program, request, startServer } from '../support/program.ts'

t.setTimeout(280_000)
const home = await makeHome()
t.teardown(home.remove)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })
const everything = fileURLToPath(new URL('../../../node_modules/@modelcontextprotocol/server-everything/',
  import.meta.url))
const { bin } = JSON.parse(await readFile(join(everything, 'package.json'), 'utf8')) as { bin: Record<string, string> }
await mkdir(join(home.skills, 'everything'), { recursive: true })
await writeFile(join(home.skills, 'everything', 'skill.toml'), `runtime = "mcp"
[mcp]
command = ${JSON.stringify([process.execPath, join(everything, Object.values(bin)[0] ?? '')])}
`)

const variables = Object.fromEntries(
  Object.entries(home.env).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])
)

/** A server that knows the tools. */
async function serve (): ReturnType<typeof startServer> {
  const server = await startServer(home)
  await until(async () => {
    const { skills } = (await request(server.url, '/api/skills')).body as unknown as { skills: { tools: unknown[] }[] }
    return skills[0] !== undefined && skills[0].tools.length > 0
  })
  return server
}

const server = await serve()
t.teardown(() => server.kill())

const ask = { skill_name: 'everything', tool_name: 'trigger-elicitation-request', parameters: {} }
const sample = { skill_name: 'everything', tool_name: 'trigger-sampling-request', parameters: { prompt: 'Two?' } }
const roots = { skill_name: 'everything', tool_name: 'get-roots-list', parameters: {} }

/** A client of the older SDK that can be asked everything. */
async function askedClient (transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, sampling: {},
    roots: {} } })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept' as const, content: { name: `answered: ${params.message.length > 0}`, check: true }
  }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'a model', role: 'assistant' as const, content: { type: 'text' as const, text: 'It is two.' }
  }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///a/project', name: 'A project' }] }))
  await client.connect(transport)
  return client
}

t.test('a client of 2025 is asked by a server behind us, over HTTP and over standard input and output', async t => {
  for (const transport of [
    new StreamableHTTPClientTransport(new URL('/mcp', server.url)) as Transport,
    new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], env: variables })
  ]) {
    const client = await askedClient(transport)
    t.teardown(() => client.close())
    t.match(textOf(await callTool(client, 'execute', ask)), /answered: true/)
    t.match(textOf(await callTool(client, 'execute', sample)), /It is two\./)
    t.match(textOf(await callTool(client, 'execute', roots)), /a\/project/)
  }
})

t.test('a client of 2026 answers in a second request, and the same call goes on', async t => {
  const client = new ModernClient({ name: 'test', version: '1' }, {
    capabilities: { elicitation: { form: {} }, sampling: {} }, versionNegotiation: { mode: 'auto' }
  })
  let asked = 0
  client.setRequestHandler('elicitation/create', () => {
    asked++
    return { action: 'accept' as const, content: { name: 'from 2026', check: true } }
  })
  client.setRequestHandler('sampling/createMessage', () => ({
    model: 'a model', role: 'assistant' as const, content: { type: 'text' as const, text: 'It is two.' }
  }))
  await client.connect(new ModernStdio({ command: process.execPath, args: [program, 'mcp'], env: variables }))
  t.teardown(() => client.close())
  t.equal(client.getProtocolEra(), 'modern')
  const said = async (call: typeof ask): Promise<string> =>
    JSON.stringify(await client.callTool({ name: 'execute', arguments: call }))
  t.match(await said(ask), /from 2026/)
  t.equal(asked, 1)
  t.match(await said({ ...sample, parameters: { prompt: 'Two?' } }), /It is two\./)
  const { total } = (await request(server.url, '/api/executions?tool_name=trigger-elicitation-request')).body
  t.equal(total, 3, 'each call was one execution')
})

t.test('who can\'t be asked gets an answer at once, which says so, and the history has it', async t => {
  const { body } = await execute(server.url, 'everything', 'trigger-elicitation-request', {})
  t.match(JSON.stringify(body), /can't be asked to fill in a form/)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url)) as Transport)
  t.teardown(() => client.close())
  t.match(textOf(await callTool(client, 'execute', sample)), /has no model to ask/)
})

t.test('a person at the terminal is asked', { skip: hasTerminals ? false : 'no terminals can be made here' }, t => {
  const shown = answerInTerminal(home, ['run', 'everything:trigger-elicitation-request'], ['n'])
  t.match(shown, /The tool asks: [^]*Answer it[^]*declined/)
  t.end()
})
