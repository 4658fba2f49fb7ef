// What does the proxy cost that a list in permissions.network goes through? A client runs as a confined command: with
// the machine's network, and through the proxy by CONNECT and by plain requests. The proxy is in this process, as it is
// in the server; the web server is a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Executor, Scope } from '../kernel/index.ts'
import native from '../plugins/executor-native/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { commandCall, runCall } from '../test/support/native.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'
import { withServers } from './lib/servers.ts'

const ways = ['direct', 'CONNECT', 'plain'] as const
const loads = {
  kept: { what: 'requests on kept connections', unit: 'requests_per_second' },
  fresh: { what: 'requests, each on a connection of its own', unit: 'requests_per_second' },
  bytes: { what: 'bytes of large replies', unit: 'megabytes_per_second' }
} as const
type Load = keyof typeof loads
type Way = typeof ways[number]

const web = `
  const large = Buffer.alloc(8 << 20)
  require('http').createServer((request, reply) => { reply.end(request.url === '/bytes' ? large : 'x'.repeat(200)) })
    .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

/** Asks from eight sides at once for so many seconds, and prints how much came a second. */
const client = `
  const http = require('http')
  const [load, way, place, seconds] = process.argv.slice(1)
  const [host, port] = place.split(':')
  const { username, password } = new URL(process.env.http_proxy ?? 'http://none')
  const headers = {
    'Host': place, ...(way !== 'direct' && { 'Proxy-Authorization': 'Basic ' + btoa(username + ':' + password) })
  }
  const proxy = { host: '127.0.0.1', port: 3128 }
  const agent = new http.Agent({ keepAlive: load !== 'fresh' })
  if (way === 'CONNECT') agent.createConnection = (options, give) => {
    http.request(
      { ...proxy, method: 'CONNECT', path: place, headers, agent: false }
    ).on('connect', (reply, socket) => { give(null, socket) }).on('error', give).end()
  }
  const path = load === 'bytes' ? '/bytes' : '/'
  const options = way === 'plain' ? { ...proxy, path: 'http://' + place + path, headers } : { host, port, path }
  const ask = () => new Promise((resolve, reject) => {
    http.get({ ...options, agent }, reply => {
      if (reply.statusCode !== 200) reject(new Error('status ' + reply.statusCode))
      let bytes = 0
      reply.on('data', chunk => { bytes += chunk.length }).on('end', () => { resolve(bytes) }).on('error', reject)
    }).on('error', reject)
  })
  const main = async () => {
    await ask()
    const began = performance.now()
    const end = began + seconds * 1000
    let sum = 0
    await Promise.all(Array.from({ length: 8 }, async () => {
      while (performance.now() < end) {
        const bytes = await ask()
        sum += load === 'bytes' ? bytes / 1e6 : 1
      }
    }))
    console.log(sum / (performance.now() - began) * 1000)
    process.exit()
  }
  main()`

export default benchmark({
  question: 'What of the throughput of a confined command is left through the proxy of permissions.network?',
  limit_s: 300,
  run: options => withServers(async ({ scope }) => {
    const { rounds, seconds } = roundsOf(options)
    const place = `127.0.0.1:${await startWeb(scope)}`
    const { service: executor, close } = await openPlugin(native, { config: { isolation: { mode: 'required' } } })
    scope.defer(close)
    const rows: Row[] = []
    for (const load of Object.keys(loads) as Load[]) {
      const samples = await interleaved<Way, number>({
        direct: () => measure(executor, { load, way: 'direct', place, seconds }),
        CONNECT: () => measure(executor, { load, way: 'CONNECT', place, seconds }),
        plain: () => measure(executor, { load, way: 'plain', place, seconds })
      }, rounds)
      const { what, unit } = loads[load]
      for (const way of ways.slice(1)) {
        rows.push({
          what: `${what}, ${way === 'plain' ? 'by plain requests' : 'by CONNECT'}`, against: 'direct', unit: '×',
          values: ratios(samples[way], samples.direct),
          details: { [unit]: median(samples[way]), [`peer_${unit}`]: median(samples.direct) }
        })
      }
    }
    return { rows }
  })
})

async function startWeb (scope: Scope): Promise<number> {
  const child = spawn(process.execPath, ['-e', web], { stdio: ['ignore', 'pipe', 'inherit'] })
  scope.defer(() => { child.kill('SIGKILL') })
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data') as [string]
  return Number(line)
}

interface Measurement { load: Load, way: Way, place: string, seconds: number }

async function measure (executor: Executor, { load, way, place, seconds }: Measurement): Promise<number> {
  const args = [load, way, place, String(seconds)]
  const call = commandCall(
    [process.execPath, '-e', client, '{{...args}}'], { args }, { directory: import.meta.dirname }
  )
  const network = way === 'direct' ? true : [place]
  const skill = { ...call.skill, trusted: false, permissions: { ...call.skill.permissions, network } }
  const outcome = await runCall(executor, { ...call, skill })
  const reason = outcome.status === 'failed' ? `: ${outcome.error.message}` : ''
  if (outcome.status !== 'success') throw new Error(`the client ended as ${outcome.status}${reason}`)
  return Number(outcome.output)
}
