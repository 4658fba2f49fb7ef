import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { limit_ms } from '../support/faults.ts'
import { makeMarkingHome } from '../support/marking.ts'
import { execute, startServer } from '../support/program.ts'

const runProgram = promisify(execFile)
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
  await mkdir(join(home.skills, 'echoing'))
  await writeFile(
    join(home.skills, 'echoing', 'skill.toml'),
    'description = "Echoes"\n[[tools]]\nname = "echo"\ndescription = "Echoes"\ncommand = ["echo", "hello"]\n'
  )
  const server = await startServer(home, ['--log-level', 'error'], {
    env: { SKILLET_PLUGIN_EXECUTOR_WORKER_IDLE_MS: '300' }
  })
  t.teardown(server.kill)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  t.teardown(() => { agent.destroy() })
  const run = (tool: string, call: string, skill = 'marking'): Promise<{ status: number, text: string }> =>
    ask(agent, server.url, '/api/execute', {
      skill_name: skill, tool_name: tool, parameters: skill === 'marking' ? { call, file: marks } : {}
    })
  const [first, second] = await Promise.all([run('fast', 'first'), run('fast', 'second')])
  t.match([first, second], [{ status: 200 }, { status: 200 }])
  const long = run('long', 'long')
  await until(async () => (await readFile(marks, 'utf8')).includes('long'))
  const limit = (descriptors: number): Promise<unknown> =>
    runProgram('prlimit', ['--pid', String(server.pid), `--nofile=${descriptors}:`])
  await limit(3) // those that are open stay open
  const { hostname, port } = new URL(server.url)
  const sockets: Socket[] = Array.from({ length: 40 }, () => connect(Number(port), hostname).on('error', () => {}))
  t.teardown(() => { for (const socket of sockets) socket.destroy() })
  t.match(await ask(agent, server.url, '/api/executions?limit=5'), { status: 200 }, 'it reads')
  t.match(await long, { status: 200 }, 'a tool that is watched for its memory meanwhile ends well')
  let refused = ''
  await until(async () => {
    await setTimeout(1000) // its thread is idle for long enough
    const { status, text } = await run('fast', 'during')
    refused = text
    return status === 503
  })
  t.match(refused, /"OVERLOADED".*no room for another script thread/, 'once its thread was idle, none can start')
  t.match(await ask(agent, server.url, '/api/skills'), { status: 200, text: /"marking"/ }, 'it knows its skills')
  t.match(await ask(agent, server.url, '/api/health'), { status: 200 })
  t.match(await ask(agent, server.url, '/readyz'), { status: 503, text: 'not ready\n' }, 'it says that it is not ready')
  t.match(await ask(agent, server.url, '/api/search', { query: 'leave a mark' }), { status: 200 }, 'it searches')
  const command = await run('echo', '', 'echoing')
  t.ok([200, 503].includes(command.status), `a command runs, or says why not: ${command.text}`)
  t.equal(server.child.exitCode ?? server.child.signalCode, null, 'it lives')
  await limit(1024)
  await until(async () =>
    (await execute(server.url, 'marking', 'fast', { call: `after-${Date.now()}`, file: marks }).catch(() => ({
      status: 0
    }))).status === 200)
  t.match(await run('fast', 'last'), { status: 200 })
  t.match(await run('echo', '', 'echoing'), { status: 200 })
  const isReady = await until(async () => (await ask(agent, server.url, '/readyz')).status === 200)
    .then(() => true, () => false)
  t.ok(isReady, `it is ready again: ${(await ask(agent, server.url, '/api/health')).text}`)
  t.equal(await server.stop(), 0)
})
