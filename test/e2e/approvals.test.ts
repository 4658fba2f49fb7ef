import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { callTool } from '../support/mcp.ts'
import { makeHome, request, skillet, startServer } from '../support/program.ts'

interface Waiting { execution_id: string, digest: string, preview?: string, parameters: { path: string } }
interface Shown {
  status: string, key: string | null, transitions: { status: string }[],
  approvals: { decision: string, decided_by: string, note?: string }[]
}

const home = await makeHome()
t.teardown(home.remove)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false', SKILLET_ISOLATION_MODE: 'off' })
await mkdir(join(home.skills, 'disk'), { recursive: true })
await writeFile(join(home.skills, 'disk', 'skill.js'), `export default { description: 'Work on a disk', tools: {
  wipe: {
    description: 'Wipe a folder', parameters: { path: { type: 'string', description: 'The folder', required: true } },
    approval: 'Deletes {{path}}', run: ({ path }) => 'wiped ' + path
  }
} }`)
const { key } = JSON.parse((await skillet(home, ['key', 'create', 'agent', '--json'])).stdout) as { key: string }

const show = async (id: string, url?: string): Promise<Shown> => url === undefined
  ? JSON.parse((await skillet(home, ['show', id, '--json'])).stdout) as Shown
  : (await request(url, `/api/executions/${id}`)).body as unknown as Shown
const waiting = async (url: string): Promise<Waiting[]> =>
  (await request(url, '/api/approvals')).body['approvals'] as Waiting[]
const headers = { 'content-type': 'application/json', 'x-api-key': key }
const wipe = (url: string, path: string, more = {}) =>
  request(url, '/api/execute', { skill_name: 'disk', tool_name: 'wipe', parameters: { path }, ...more }, { headers })

/** Asks for a run that waits, and returns its id. */
async function submit (t: Test, url: string, path: string): Promise<string> {
  const { status, body } = await wipe(url, path, { asynchronous: true })
  t.match({ status, body }, { status: 202, body: { status: 'waiting' } })
  return String(body['execution_id'])
}

t.test('a tool that asks waits, is decided on at the terminal, and outlives its server', async t => {
  const first = await startServer(home)
  t.teardown(() => first.kill())
  const ended = wipe(first.url, '/tmp/a')
  await until(async () => (await waiting(first.url)).length === 1)
  const [asked] = await waiting(first.url)
  t.match((await skillet(home, ['approvals'])).stdout, /disk:wipe.*Deletes \/tmp\/a.*the key agent/s)
  t.match(asked, { preview: 'Deletes /tmp/a', parameters: { path: '/tmp/a' } })
  const id = asked?.execution_id ?? ''
  const own = await request(first.url, `/api/executions/${id}/approve`, { digest: asked?.digest }, { headers })
  t.equal(own.status, 403, 'an agent approves nothing')
  const { stdout } = await skillet(home, ['approve', id, '--reason', 'it is old'])
  t.match(stdout, 'disk:wipe {"path":"/tmp/a"} was approved')
  t.match(await ended, { status: 200, body: { output: 'wiped /tmp/a' } })
  t.match(await show(id, first.url), {
    key: 'agent', approvals: [{ decision: 'approved', decided_by: 'terminal', note: 'it is old' }],
    transitions: ['queued', 'waiting', 'queued', 'running', 'success'].map(status => ({ status }))
  })
  t.match(await skillet(home, ['deny', id]), { status: 5, stderr: /already ended: success/ })

  const ids: string[] = []
  for (const path of ['/tmp/b', '/tmp/c', '/tmp/d']) ids.push(await submit(t, first.url, path))
  const lost = wipe(first.url, '/tmp/e').catch(() => undefined)
  await until(async () => (await waiting(first.url)).length === 4)
  await first.kill()
  await lost
  const [b = '', c = '', d = ''] = ids
  t.match((await skillet(home, ['deny', b])).stdout, /denied/, 'no server is needed to decide')
  t.match(await show(b), { status: 'cancelled', error: { code: 'APPROVAL_DENIED' } })
  t.match((await skillet(home, ['approve', c])).stdout, /approved/)
  const second = await startServer(home)
  t.teardown(() => second.kill())
  await until(async () => (await show(c, second.url)).status === 'success')
  const left = (await waiting(second.url)).map(({ execution_id }) => execution_id)
  t.same(left, [d], 'a run with a caller ended with its server')
  t.match((await skillet(home, ['approve', d])).stdout, /approved/)
  await until(async () => (await show(d, second.url)).status === 'success')

  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  const messages: string[] = []
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    messages.push(params.message)
    return { action: 'accept', content: { approve: messages.length > 1 } }
  })
  const url = new URL(`${second.url}/mcp`)
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { 'x-api-key': key } } })
  await client.connect(transport as Transport)
  t.teardown(() => client.close())
  const call = { skill_name: 'disk', tool_name: 'wipe', parameters: { path: '/tmp/f' } }
  const refused = await callTool(client, 'execute', call)
  t.match(refused, { isError: true })
  t.match(JSON.stringify(refused), /APPROVAL_DENIED|denied it/)
  t.match(await callTool(client, 'execute', call), { structuredContent: { output: 'wiped /tmp/f' } })
  t.match(messages[0], /disk:wipe .*Deletes \/tmp\/f/s)
  t.equal(await second.stop(), 0)
})
