// What do a thousand readers of live events cost executions?
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Home } from '../test/support/program.ts'
import { benchmark, roundsOf } from './lib/benchmark.ts'
import { load, requestOf } from './lib/load.ts'
import { trivial, withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const readers = 1_000
const args = ['--storage-durability', 'deferred', '--server-streams-max', String(2 * readers)]
/** Writes a line each second, which every reader receives. */
const ticking = `description = "Ticks"
[[tools]]
name = "tick"
description = "Write a line each second"
command = ["sh", "-c", "while :; do echo tick; sleep 1; done"]
timeout_ms = 600000
`

export default benchmark({
  question: 'How many executions does a server do while 1,000 clients read the live events of another execution?',
  limit_s: 180,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const alone = await servers.skillet(args)
    const read = await servers.skillet(args, { prepare: addTicking })
    const sockets = await follow(read.port, await startTicking(read.url))
    servers.scope.defer(() => { for (const socket of sockets) socket.destroy() })
    let received = 0
    for (const socket of sockets) socket.on('data', () => { received++ })
    const request = requestOf('POST', '/api/execute', trivial)
    const rate = (port: number) => async (): Promise<number> =>
      (await load(port, request, 64, seconds)).requests_per_second
    const samples = await interleaved({ alone: rate(alone.port), read: rate(read.port) }, rounds)
    if (received < readers) throw new Error(`${readers} readers received ${received} pieces`)
    return {
      rows: [{
        what: `POST /api/execute, deferred, 64 connections, while ${readers} clients read events of another execution`,
        against: 'without readers', unit: '×', values: ratios(samples.read, samples.alone), goal: { at_least: 0.95 },
        details: {
          requests_per_second: median(samples.read), peer_requests_per_second: median(samples.alone), received
        }
      }]
    }
  })
})

async function addTicking (home: Home): Promise<void> {
  await mkdir(join(home.skills, 'ticking'), { recursive: true })
  await writeFile(join(home.skills, 'ticking', 'skill.toml'), ticking)
}

/** @returns the id of the execution */
async function startTicking (url: string): Promise<string> {
  const reply = await fetch(`${url}/api/execute`, {
    method: 'POST', body: JSON.stringify({ skill_name: 'ticking', tool_name: 'tick', parameters: {} }),
    headers: { 'content-type': 'application/json', prefer: 'respond-async' }
  })
  if (reply.status !== 202) throw new Error(`it answered ${reply.status}: ${await reply.text()}`)
  const location = reply.headers.get('location') ?? ''
  return location.slice(location.lastIndexOf('/') + 1)
}

async function follow (port: number, id: string): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < readers; i++) {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.write(`GET /api/executions/${id}/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    const [first] = await once(socket, 'data') as [Buffer]
    if (!first.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(first.toString())
  }
  return sockets
}
