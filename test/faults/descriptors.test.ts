import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { limit_ms } from '../support/faults.ts'
import { makeMarkingHome } from '../support/marking.ts'
import { execute, startServer } from '../support/program.ts'

const run = promisify(execFile)
const skip = process.platform === 'linux' && spawnSync('prlimit', ['--version']).error === undefined
  ? false
  : 'needs prlimit'

t.setTimeout(limit_ms)

/** Calls the API over a connection that is open already. */
async function ask (agent: Agent, url: string, path: string, body?: object): Promise<{ status: number, text: string }> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const headers = body === undefined
    ? {}
    : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const sent = request(`${url}${path}`, { agent, method: body === undefined ? 'GET' : 'POST', headers }).end(text)
  const [reply] = await once(sent, 'response') as [IncomingMessage]
  return { status: reply.statusCode ?? 0, text: (await reply.setEncoding('utf8').toArray()).join('') }
}

t.test('a server without free descriptors serves the connections that it has, and all others later', { skip }, async t => {
  t.setTimeout(0)
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const server = await startServer(home, ['--log-level', 'error'])
  t.teardown(server.kill)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => { agent.destroy() })
  const call = (name: string): object =>
    ({ skill_name: 'marking', tool_name: 'fast', parameters: { call: name, file: marks } })
  t.match(await ask(agent, server.url, '/api/execute', call('before')), { status: 200 })
  const open = readdirSync(`/proc/${server.pid}/fd`).length
  await run('prlimit', ['--pid', String(server.pid), `--nofile=${open + 6}:`])
  const { hostname, port } = new URL(server.url)
  const sockets: Socket[] = Array.from({ length: 40 }, () => connect(Number(port), hostname).on('error', () => {}))
  t.teardown(() => { for (const socket of sockets) socket.destroy() })
  await until(() => readdirSync(`/proc/${server.pid}/fd`).length >= open + 5)
  t.match(await ask(agent, server.url, '/api/executions?limit=5'), { status: 200 }, 'it reads')
  const during =
    await ask(agent, server.url, '/api/execute', { skill_name: 'system', tool_name: 'info', parameters: {} })
  t.ok(during.status < 600 && during.text.startsWith('{'), `${during.status} ${during.text}`)
  t.equal(server.child.exitCode ?? server.child.signalCode, null, 'it lives')
  for (const socket of sockets) socket.destroy()
  await until(async () =>
    (await execute(server.url, 'marking', 'fast', { call: `after-${Date.now()}`, file: marks }).catch(() => ({
      status: 0
    }))).status === 200)
  t.match(await ask(agent, server.url, '/api/execute', call('last')), { status: 200 })
  t.equal(await server.stop(), 0)
})
