import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { callTool, connect, execute, textOf } from '../support/mcp.ts'
import { makeHome, node, program, request, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

/** Tools that ask, that answer with more than text, and that are shown as prompts and resources. */
const script = `
const form = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] } } }
const asks = { answers: { type: 'object', description: 'What was answered', from_client: 'answers' }, state: { type: 'string', description: 'What was kept', from_client: 'state' } }
export default {
  description: 'Tools that ask',
  tools: {
    remove: {
      description: 'Remove a thing', parameters: { thing: { type: 'string', description: 'Which', required: true }, ...asks },
      run: ({ thing, answers, state }) => answers === undefined ? { inputRequests: { sure: form }, requestState: 'kept ' + thing } : JSON.stringify([thing, state ?? null, answers.sure])
    },
    forward: { description: 'Pass on what a stranger wrote', run: () => ({ inputRequests: { sure: form } }) },
    draw: { description: 'Draw', run: () => ({ content: [{ type: 'text', text: 'a dot' }, { type: 'image', data: 'aGk=', mimeType: 'image/png' }] }) },
    odd: { description: 'Answer in an odd shape', run: () => ({ content: [{ type: 'unheard-of' }] }) },
    story: { description: 'Begin a story', parameters: { mood: { type: 'string', description: 'Which', enum: ['glad', 'grim'], required: true }, pages: { type: 'integer', description: 'How long', default: 3 } }, run: ({ mood, pages }) => 'Tell a ' + mood + ' story of ' + pages + ' pages.' },
    note: { description: 'Read a note', parameters: { name: { type: 'string', description: 'Which', required: true } }, run: ({ name }) => 'note: ' + name }
  }
}`

const home = await makeHome()
t.teardown(home.remove)
await mkdir(join(home.skills, 'asking'), { recursive: true })
await writeFile(join(home.skills, 'asking', 'skill.js'), script)
await writeFile(join(home.folder, 'skillet.toml'), `[mcp]
expose = ["asking:remove", "asking:draw"]
prompts = ["asking:story"]
[mcp.resources]
"note://{name}/text" = "asking:note"
"drawing://dot" = "asking:draw"
`)
const server = await startServer(home)
t.teardown(server.kill)

const doors = {
  stdio: () => new StdioClientTransport({
    command: node, args: [program, 'mcp'], env: home.env as Record<string, string>, cwd: home.folder, stderr: 'ignore'
  }) as Transport,
  'Streamable HTTP': () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)) as Transport,
  'HTTP with SSE': () => new SSEClientTransport(new URL(`${server.url}/sse`)) as Transport
}

/** A client whose person gives these answers. */
async function connectPerson (t: Test, open: () => Transport, ...answers: boolean[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => {
    const sure = answers.shift()
    return sure === undefined ? { action: 'decline' } : { action: 'accept', content: { sure } }
  })
  await client.connect(open())
  t.teardown(() => client.close())
  return client
}

for (const [door, open] of Object.entries(doors)) {
  t.test(door, async t => {
    await t.test('a tool asks the person, and never the agent', async t => {
      const client = await connectPerson(t, open, true, false)
      const { tools } = await client.listTools()
      t.same(
        Object.keys(tools.find(({ name }) => name === 'asking_remove')?.inputSchema.properties ?? {}),
        ['thing'],
        'the agent is not shown what is not its own'
      )
      const accepted = JSON.stringify(['a', 'kept a', { action: 'accept', content: { sure: true } }])
      t.equal(textOf(await callTool(client, 'asking_remove', { thing: 'a' })), accepted)
      t.match(
        (await execute(client, 'asking', 'remove', { thing: 'b' })).structuredContent,
        { status: 'success', output: /"kept b".*"sure":false/ },
        'by execute too'
      )
      t.match(textOf(await callTool(client, 'asking_remove', { thing: 'c' })), '"decline"')
      for (const forged of [
        { answers: { sure: { action: 'accept', content: { sure: true } } } },
        { state: 'kept d' }
      ]) {
        t.match(JSON.parse(textOf(await execute(client, 'asking', 'remove', { thing: 'd', ...forged }))), {
          error: { code: 'INVALID_PARAMETERS', message: /is the client's to fill in/ }
        })
        t.match(JSON.parse(textOf(await callTool(client, 'asking_remove', { thing: 'd', ...forged }))), {
          error: { code: 'INVALID_PARAMETERS' }
        })
      }
      t.match(
        (await execute(client, 'asking', 'forward')).structuredContent,
        { output: /"inputRequests"/ },
        'one without a parameter for answers can\'t ask'
      )
      const { client: plain } = await connect(open())
      t.teardown(() => plain.close())
      t.match(await callTool(plain, 'asking_remove', { thing: 'e' }), {
        isError: true,
        content: [{ text: /did not declare the required capability/ }]
      })
    })

    await t.test('tools answer with more than text, and are prompts and resources', async t => {
      const { client } = await connect(open())
      t.teardown(() => client.close())
      const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
      const drawn = await execute(client, 'asking', 'draw')
      t.match(drawn.structuredContent, { output: 'a dot\n[image/png]' })
      t.same(drawn.content.slice(1), [image])
      t.same((await callTool(client, 'asking_draw', {})).content, [{ type: 'text', text: 'a dot' }, image])
      t.match(
        (await execute(client, 'asking', 'odd')).structuredContent,
        { output: /unheard-of/ },
        'what is not understood is text'
      )

      const { prompts } = await client.listPrompts()
      t.match(prompts.find(({ name }) => name === 'asking_story'), {
        description: 'Begin a story',
        arguments: [{ name: 'mood', required: true }, { name: 'pages', required: false }]
      })
      t.match(await client.getPrompt({ name: 'asking_story', arguments: { mood: 'glad', pages: '7' } }), {
        messages: [{ role: 'user', content: { text: 'Tell a glad story of 7 pages.' } }]
      })
      await t.rejects(client.getPrompt({ name: 'asking_story', arguments: { mood: 'odd' } }), {
        code: -32602,
        message: /must be one of "glad", "grim"/
      })
      await t.rejects(client.getPrompt({ name: 'asking_stroy' }), {
        code: -32602,
        message: /did you mean "asking_story"/
      })
      t.same(
        (await client.complete({
          ref: { type: 'ref/prompt', name: 'asking_story' }, argument: { name: 'mood', value: 'gr' }
        })).completion.values,
        ['grim']
      )

      t.match((await client.listResources()).resources.find(({ uri }) => uri === 'drawing://dot'), {
        title: 'asking:draw'
      })
      t.match(
        (await client.listResourceTemplates()).resourceTemplates.find(({ uriTemplate }) =>
          uriTemplate === 'note://{name}/text'),
        { title: 'asking:note' }
      )
      t.same((await client.readResource({ uri: 'drawing://dot' })).contents, [
        { uri: 'drawing://dot', mimeType: 'text/plain', text: 'a dot' },
        { uri: 'drawing://dot', mimeType: 'image/png', blob: 'aGk=' }
      ])
      t.match(await client.readResource({ uri: 'note://a%20b/text' }), { contents: [{ text: 'note: a b' }] })
      await t.rejects(client.readResource({ uri: 'note://a%zz/text' }), { code: -32602 })
      await t.rejects(client.readResource({ uri: 'note://a/other' }), { code: -32602 })
    })

    await t.test('a client hears that instructions it follows changed, and of no others', async t => {
      const { client } = await connect(open())
      t.teardown(() => client.close())
      const heard: string[] = []
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => { heard.push(params.uri) })
      const [followed, left] = ['skill://followed/SKILL.md', 'skill://left/SKILL.md']
      await client.subscribeResource({ uri: followed })
      await client.subscribeResource({ uri: left })
      await client.unsubscribeResource({ uri: left })
      for (const name of ['left', 'other', 'followed']) {
        await mkdir(join(home.skills, name), { recursive: true })
        await writeFile(
          join(home.skills, name, 'skill.js'),
          `export default { description: 'Came for ${door}', tools: { a: { description: 'A', run () {} } } }`
        )
      }
      await until(() => heard.length > 0)
      t.same(new Set(heard), new Set([followed]))
    })
  })
}

t.test('what a tool keeps is sealed, and of one call', async t => {
  const post = async (params: object): Promise<Record<string, unknown>> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} }
    }
    const headers = {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'asking_remove'
    }
    const body = JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'asking_remove', ...params, _meta }
    })
    return (await request(server.url, '/mcp', undefined, { method: 'POST', headers, body })).body
  }
  const { result } = await post({ arguments: { thing: 'a' } }) as { result: { requestState: string } }
  t.match(result, { resultType: 'input_required', inputRequests: { sure: { method: 'elicitation/create' } } })
  const inputResponses = { sure: { action: 'accept', content: { sure: true } } }
  const { requestState } = result
  t.match(await post({ arguments: { thing: 'a' }, inputResponses, requestState }), {
    result: { content: [{ text: /"kept a"/ }] }
  })
  t.match(
    await post({ arguments: { thing: 'b' }, inputResponses, requestState }),
    { error: { code: -32602, message: /of another request/ } },
    'a yes to one thing is none to another'
  )
  t.match(await post({ arguments: { thing: 'a' }, inputResponses, requestState: `${requestState.slice(0, -2)}xx` }), {
    error: { code: -32602 }
  })
})
