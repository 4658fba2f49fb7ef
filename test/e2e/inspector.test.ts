import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { RawAgent } from '../support/mcp.ts'
import { launch, makeHome, node, program, request, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

/** Node starts its inspector, which runs whatever it is sent, when any process of the user sends SIGUSR1. */

const home = await makeHome()
t.teardown(home.remove)
const linux = process.platform === 'linux' ? false : 'sockets of a process are found by /proc'

/** The ports on which a process listens. */
async function portsOf (pid: number): Promise<number[]> {
  const names = await readdir(`/proc/${pid}/fd`)
  const links = new Set(await Promise.all(names.map(name => readlink(`/proc/${pid}/fd/${name}`).catch(() => ''))))
  const rows =
    (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).trim().split('\n').slice(1).map(row => row.trim().split(/\s+/))
  return rows.filter(([, , , state, , , , , , inode]) => state === '0A' && links.has(`socket:[${inode}]`))
    .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16))
}

t.test('serve takes no signal for a wish to be inspected', { skip: linux }, async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const before = await portsOf(server.pid)
  for (let i = 0; i < 5; i++) {
    process.kill(server.pid, 'SIGUSR1')
    t.match(await request(server.url, '/api/health'), { status: 200 })
  }
  t.same(await portsOf(server.pid), before)
  t.equal(await server.stop(), 0)
  t.notMatch(server.stderr(), 'Debugger listening')
})

t.test('an inspector that was started before the program began is closed; one that was asked for is not', {
  skip: linux
}, async t => {
  const early = join(home.folder, 'early.cjs')
  await writeFile(early, 'process.kill(process.pid, "SIGUSR1")\nwhile (require("node:inspector").url() === undefined);\n')
  const [first = '', second = ''] = launch
  const server = await startServer(home, [], {
    launch: [first, second, node, '--inspect-port=127.0.0.1:0', '--require', early, program]
  })
  t.teardown(server.kill)
  t.match(server.stderr(), 'Debugger listening', 'it was there')
  t.same(await portsOf(server.pid), [Number(new URL(server.url).port)])
  await server.kill()
  const asked = await startServer(home, [], { launch: [first, second, node, '--inspect=127.0.0.1:0', program] })
  t.teardown(asked.kill)
  t.equal((await portsOf(asked.pid)).length, 2)
})

t.test('mcp neither, in both of its processes', { skip: linux }, async t => {
  const agent = new RawAgent(home)
  t.teardown(() => agent.child.kill('SIGKILL'))
  agent.initialize()
  await until(() => agent.lines.length > 0)
  const pid = agent.child.pid ?? 0
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number)
  const commands = await Promise.all(
    [pid, ...children].map(async each => ({ each, command: await readFile(`/proc/${each}/cmdline`, 'utf8') }))
  )
  // The relay is no Node process: the signal ends it.
  const processes = commands.filter(({ command }) => command.includes(program)).map(({ each }) => each)
  t.equal(processes.length, 2)
  for (const each of processes) process.kill(each, 'SIGUSR1')
  agent.send({ jsonrpc: '2.0', id: 'ping', method: 'ping' })
  await until(() => agent.lines.length > 1)
  for (const each of processes) t.same(await portsOf(each), [])
  agent.child.stdin?.end()
  await agent.ended
  t.notMatch(agent.stderr, 'Debugger listening')
})
