import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { callTool, connect, textOf } from '../support/mcp.ts'
import { makeHome, node, program, request, skillet, startServer } from '../support/program.ts'

/** Names that look like calls of other tools, arrays, and parameters that are called as those of `execute`. */
const pages = `
const text = { type: 'string', description: 'The text', required: true }
const names = { type: 'array', items: { type: 'string' }, description: 'Names', required: true }
export default {
  description: 'Pages',
  tools: {
    count: { description: 'Count the characters', parameters: { text }, run: ({ text }) => text.length },
    'pages.count': { description: 'Has the name of another call', parameters: { text }, run: ({ text }) => 'exact ' + text },
    join: { description: 'Join names', parameters: { arguments: names, numbers: { type: 'array', items: { type: 'integer' }, description: 'Numbers' } }, run: given => given },
    own: { description: 'Has a parameter of this name', parameters: { parameters_json: text }, run: ({ parameters_json }) => parameters_json },
    ping: { description: 'Takes nothing that is required', parameters: { how: { type: 'string', description: 'How', default: 'pong' } }, run: ({ how }) => how }
  }
}`

const home = await makeHome()
t.teardown(home.remove)
await mkdir(join(home.skills, 'pages'), { recursive: true })
await writeFile(join(home.skills, 'pages', 'skill.js'), pages)

async function takesNearMisses (t: Test, client: Client): Promise<void> {
  const parameters = { text: 'abc' }
  const calls: [object, unknown][] = [
    [{ skill_name: 'pages', tool_name: 'count', parameters: JSON.stringify(parameters) }, '3'],
    [{ skill_name: 'pages', tool_name: 'count', parameters: { parameters_json: JSON.stringify(parameters) } }, '3'],
    [{ skill_name: 'pages:count', parameters }, '3'],
    [{ skill_name: 'pages:count', tool_name: 'count', parameters }, '3'],
    [{ skill_name: 'pages:count', tool_name: 'pages:count', parameters }, '3'],
    [{ skill_name: 'pages', tool_name: 'pages:count', parameters }, '3'],
    [{ skill_name: 'pages', tool_name: 'pages/count', parameters }, '3'],
    [{ tool_name: 'pages:count', parameters }, '3'],
    [{ tool_name: 'pages/count', parameters: JSON.stringify(parameters) }, '3'],
    [{ tool_name: 'text.slug', parameters: { text: 'A b' } }, 'a-b'],
    [{ skill_name: 'pages', tool_name: 'ping' }, 'pong'],
    [{ skill_name: 'pages', tool_name: 'ping', parameters: '' }, 'pong'],
    [
      {
        skill_name: 'pages', tool_name: 'ping', parameters: null, timeout_ms: null, grep: null, jmespath: '',
        max_output: null, truncate: null
      },
      'pong'
    ],
    [{ skill_name: 'pages', tool_name: 'ping', parameters: { how: null } }, 'pong'],
    // Exact names come first.
    [{ skill_name: 'pages', tool_name: 'pages.count', parameters }, 'exact abc'],
    [{ tool_name: 'pages:pages.count', parameters }, 'exact abc'],
    [{ skill_name: 'pages', tool_name: 'own', parameters: { parameters_json: '{"text":"abc"}' } }, '{"text":"abc"}']
  ]
  for (const [given, output] of calls) {
    const result = await callTool(client, 'execute', { ...given })
    t.match(
      result.structuredContent,
      { status: 'success', output },
      `${JSON.stringify(given)} ${result.isError === true ? textOf(result) : ''}`
    )
  }
}

async function showsTheRightCall (t: Test, client: Client): Promise<void> {
  const right = '{"skill_name":"pages","tool_name":"count","parameters":{"text":"…"}}'
  const calls: [object, string, ...(string | RegExp)[]][] = [
    [
      { skill_name: 'pages', tool_name: 'count', parameters: { txt: 'x' } },
      'INVALID_PARAMETERS',
      'unknown field "txt"; did you mean "text"?',
      right
    ],
    [{ skill_name: 'pages', tool_name: 'count' }, 'INVALID_PARAMETERS', 'must have the field "text"', right],
    [
      { skill_name: 'pages', tool_name: 'count', parameters: '{"text"' },
      'INVALID_PARAMETERS',
      /parameters .*JSON/,
      right
    ],
    [
      { skill_name: 'pages', tool_name: 'count', parameters: '["abc"]' },
      'INVALID_PARAMETERS',
      'parameters must be object',
      right
    ],
    [
      { skill_name: 'pages', tool_name: 'join', parameters: { args: ['a'] } },
      'INVALID_PARAMETERS',
      'did you mean "arguments"?',
      '"parameters":{"arguments":["…"]}}'
    ],
    [
      { tool_name: 'pages:cuont', parameters: {} },
      'TOOL_NOT_FOUND',
      'The skill "pages" has no tool "cuont"; did you mean "count"?',
      right
    ],
    [
      { skill_name: 'page:count', parameters: {} },
      'SKILL_NOT_FOUND',
      'There is no skill "page"; did you mean "pages"?'
    ],
    [
      { skill_name: 'git', tool_name: 'pages:count', parameters: {} },
      'TOOL_NOT_FOUND',
      'The skill "git" has no tool "pages:count"'
    ],
    [
      { tool_name: 'count', parameters: {} },
      'INVALID_PARAMETERS',
      'must have the field "skill_name"',
      '{"skill_name":"text","tool_name":"count","parameters":{"text":"Hello, world"}}'
    ]
  ]
  for (const [given, code, ...words] of calls) {
    const result = await callTool(client, 'execute', { ...given })
    const { error } = JSON.parse(textOf(result)) as { error: { code: string, message: string } }
    t.equal(error.code, code, JSON.stringify(given))
    for (const word of words) t.match(error.message, word)
  }
}

const server = await startServer(home)
t.teardown(server.kill)
for (const [door, open] of Object.entries({
  stdio: () => new StdioClientTransport({
    command: node, args: [program, 'mcp'], env: home.env as Record<string, string>, cwd: home.folder, stderr: 'ignore'
  }) as Transport,
  'Streamable HTTP': () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)) as Transport
})) {
  t.test(`MCP over ${door}: what models write is taken for what they mean, and errors show the right call`, async t => {
    const { client } = await connect(open())
    t.teardown(() => client.close())
    await takesNearMisses(t, client)
    await showsTheRightCall(t, client)
  })
}

t.test('HTTP: parameters may be left out where the tool requires none, and are named where it does', async t => {
  const post = async (body: object): Promise<unknown> => (await request(server.url, '/api/execute', body)).body
  t.match(await post({ skill_name: 'pages', tool_name: 'ping' }), { status: 'success', output: 'pong' })
  t.match(await post({ skill_name: 'pages', tool_name: 'count' }), {
    success: false,
    error: { code: 'INVALID_PARAMETERS', message: 'parameters must have the field "text"' }
  })
  t.match(
    await post({ skill_name: 'pages', tool_name: 'ping', parameters: '{}' }),
    { success: false, error: { code: 'INVALID_PARAMETERS', message: 'parameters must be object' } },
    'programs are taken at their word'
  )
  t.match(await post({ skill_name: 'pages:count', tool_name: 'count', parameters: {} }), {
    success: false,
    error: { code: 'SKILL_NOT_FOUND' }
  })
})

t.test('the command line names the parameters that there are, and takes one value for an array', async t => {
  const cases: [string[], ...(string | RegExp)[]][] = [
    [
      ['pages:count', 'txt=abc'], 'unknown field "txt"; did you mean "text"?', 'text string required: The text',
      'skillet run pages:count text=…'
    ],
    [['pages:count'], 'must have the field "text"', 'skillet run pages:count text=…'],
    [['pages:join', 'args=a.pdf'], 'did you mean "arguments"?', 'skillet run pages:join arguments=…'],
    [['pages:join', 'arguments=[a'], 'parameters/arguments must be array'],
    [['pages:join', 'arguments=a', 'numbers=x'], 'parameters/numbers/0 must be integer']
  ]
  for (const [args, ...words] of cases) {
    const { status, stderr } = await skillet(home, ['run', ...args])
    t.equal(status, 2, args.join(' '))
    for (const word of words) t.match(stderr, word, args.join(' '))
  }
  const ran = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await skillet(home, ['run', ...args])).stdout || 'null')
  t.same(await ran('pages:join', 'arguments=a.pdf'), { arguments: ['a.pdf'] })
  t.same(await ran('pages:join', 'arguments=["a","b"]', 'numbers=5'), { arguments: ['a', 'b'], numbers: [5] })
  t.same(await ran('pages:join', 'arguments=5', 'numbers=[1,2]'), { arguments: ['5'], numbers: [1, 2] })
})
