import { once } from 'node:events'
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { answersBytesMax } from '../../plugins/mcp/transports/batches.ts'
import { RawAgent } from '../support/mcp.ts'
import { RawHttp, type Message } from '../support/mcp-http.ts'
import { writeMcpSkills } from '../support/mcp-skills.ts'
import { makeHome, request, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const home = await makeHome()
t.teardown(home.remove)
await writeMcpSkills(home.skills)
await mkdir(join(home.skills, 'large'))
await writeFile(
  join(home.skills, 'large', 'skill.js'),
  'export default { description: "Large", tools: { text: { description: "Put out a million characters", run: () => "x".repeat(1_000_000) } } }'
)
const call = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'execute', arguments: { skill_name: 'large', tool_name: 'text', max_output: 1_000_000 } }
})
const ping = (id: string): object => ({ jsonrpc: '2.0', id, method: 'ping' })
/**
 * Another call of the same tool may run before one that was asked for earlier: what a batch left out is counted, not
 * named.
 */
const batch = [ping('before'), ...Array.from({ length: 20 }, (_, id) => call(id)), ping('after')]

function isBounded (t: Test, answers: readonly Message[]): void {
  t.equal(answers.length, batch.length, 'each has an answer')
  const bytes = JSON.stringify(answers).length
  t.ok(bytes < answersBytesMax * 1.1, `${bytes} bytes`)
  const errors = answers.flatMap(({ error }) =>
    error === undefined ? [] : [error as { code: number, message: string, data: Record<string, unknown> }])
  t.equal(
    answers.filter(({ result }) => JSON.stringify(result)?.includes('xxxxx')).length,
    Math.floor(answersBytesMax / 2_000_000),
    'as many as fit'
  )
  t.ok(errors.every(({ code, data }) =>
    code === -32_000 && data['code'] === 'PAYLOAD_TOO_LARGE' && data['limit_bytes'] === answersBytesMax))
  const done = errors.filter(({ message }) =>
    /^It was done, but its answer is left out: .*; whole output: skillet:\/\/executions\//.test(message))
  t.ok(done.length > 0 && errors.every(error => done.includes(error) || error.message.startsWith('It was not begun: ')))
}

t.test('the answers to a batch are bounded in their sum', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const http = new RawHttp(server.url)
  const answers = await http.request(await http.open('2025-03-26'), batch)
  isBounded(t, answers)
  const left = answers.flatMap(({ error }) =>
    (error as { data: { execution_id?: string } } | undefined)?.data.execution_id ?? [])
  const { total } = (await request(server.url, '/api/executions?skill_name=large')).body
  t.equal(total, Math.floor(answersBytesMax / 2_000_000) + left.length, 'what has no room is not run')
  const [read] = await http.request(
    await http.open(),
    { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: `skillet://executions/${left[0]}/output` } }
  )
  t.equal((read as { result: { contents: [{ text: string }] } }).result.contents[0].text.length, 1_000_000)
})

t.test('those to a batch of lines too', async t => {
  const agent = new RawAgent(home)
  t.teardown(() => agent.child.kill('SIGKILL'))
  agent.initialize('2025-03-26')
  agent.send(batch)
  await until(() => agent.lines.length === 2)
  isBounded(t, JSON.parse(agent.lines[1] ?? '') as Message[])
  agent.child.stdin?.end()
  await agent.ended
  t.equal(agent.child.exitCode, 0)
})

t.test('a client that does not read loses its stream', {
  skip: process.platform !== 'linux' && 'the sockets of the server are counted in /proc'
}, async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const sockets = async (): Promise<number> => (await Promise.all(
    (await readdir(`/proc/${server.pid}/fd`)).map(name => readlink(`/proc/${server.pid}/fd/${name}`).catch(() => ''))
  )).filter(link => link.startsWith('socket:')).length
  const { hostname, port, host } = new URL(server.url)
  const before = await sockets()
  const client = connect(Number(port), hostname)
  t.teardown(() => client.destroy())
  client.write(`GET /sse HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`)
  let head = ''
  while (!/data: \S+/.test(head)) head += String((await once(client, 'data'))[0])
  client.pause()
  const [, messages = ''] = /data: (\S+)/.exec(head) ?? []
  const post = (message: object): Promise<number> => fetch(`${server.url}${messages}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(message)
  }).then(({ status }) => status)
  await post({
    jsonrpc: '2.0',
    id: 'open',
    method: 'initialize',
    params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  })
  // 60 MB of answers: whatever the system takes of them, the rest is more than may be left unread.
  let id = 0
  await until(async () => id < 30 ? await post(call(id++)) === 404 : await post(ping('still')) === 404)
  await until(async () => await sockets() <= before)
})

t.test('an agent\'s client that does not read is left', async t => {
  const agent = new RawAgent(home)
  t.teardown(() => agent.child.kill('SIGKILL'))
  agent.initialize()
  await until(() => agent.lines.length === 1)
  agent.child.stdout?.removeAllListeners('data').pause()
  for (let id = 0; id < 200; id++) agent.send(call(id))
  await agent.ended
  t.pass('it ended')
})
