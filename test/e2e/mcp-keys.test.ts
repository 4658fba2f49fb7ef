import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { hashKey } from '../../kernel/index.ts'
import { makeHome, startServer } from '../support/program.ts'

t.test('a session is found by the key that opened it, and by no other', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const keys = { own: 'sk_of_the_one', other: 'sk_of_another', narrow: 'sk_of_a_third' }
  await writeFile(
    join(home.folder, 'skillet.toml'),
    `[mcp]\nexpose = ["text:count", "time"]\n${Object.entries(keys).map(([name, key]) => `[server.keys.${name}]\nhash = "${hashKey(key)}"\n${name === 'narrow' ? 'skills = ["text"]\n' : ''}`).join('')}`
  )
  const server = await startServer(home, ['--auth-required'])
  t.teardown(server.kill)
  const ask = (
    key: string | undefined,
    path: string,
    { method = 'POST', body, headers = {} }: { method?: string, body?: object, headers?: Record<string, string> }
  ): Promise<Response> => fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      accept: 'application/json, text/event-stream',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers
    },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  }
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const openSession = async (key: string): Promise<Record<string, string>> => {
    const opened = await ask(key, '/mcp', { body: initialize })
    await opened.text()
    return { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' }
  }

  const headers = await openSession(keys.own)
  t.equal((await ask(keys.own, '/mcp', { body: list, headers })).status, 200)
  for (const [key, status] of [[keys.other, 404], [keys.narrow, 404], ['sk_wrong', 401], [undefined, 401]] as const) {
    t.equal((await ask(key, '/mcp', { body: list, headers })).status, status, `POST with ${key}`)
    t.equal((await ask(key, '/mcp', { method: 'GET', headers })).status, status, 'its stream')
    t.equal(
      (await ask(key, '/mcp', { method: 'GET', headers: { ...headers, 'last-event-id': '1' } })).status,
      status,
      'what was sent in it'
    )
    t.equal((await ask(key, '/mcp', { method: 'DELETE', headers })).status, status, 'its end')
  }
  t.equal((await ask(keys.own, '/mcp', { body: list, headers })).status, 200, 'it is there still')

  const stream = await ask(keys.own, '/sse', { method: 'GET' })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  t.teardown(() => reader?.cancel())
  const [, messages = ''] = /data: (\S+)/.exec((await reader?.read())?.value ?? '') ?? []
  t.match(messages, /^\/messages\?sessionId=/)
  for (const [key, status] of [[keys.other, 404], ['sk_wrong', 401], [undefined, 401], [keys.own, 202]] as const) {
    t.equal((await ask(key, messages, { body: initialize })).status, status, `/messages with ${key}`)
  }
  t.match((await reader?.read())?.value, '"serverInfo"', 'only its own was answered')

  const toolsOf = async (key: string): Promise<string> =>
    await (await ask(key, '/mcp', { body: list, headers: await openSession(key) })).text()
  t.match(await toolsOf(keys.own), '"time_')
  const narrow = await toolsOf(keys.narrow)
  t.match(narrow, '"text_count"')
  t.notMatch(narrow, '"time_', 'tools beyond the rights are not shown')
})
