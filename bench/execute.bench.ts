/**
 * How near does running a tool over HTTP come to a server that only reads and validates the request?
 * `node dist/bench/execute.bench.js [--seconds 4] [--rounds 3] [--connections 64] [--json FILE]`
 *
 * Three servers run at once, each in its own process: raw uWebSockets.js, and Skillet in both durabilities. Each round
 * loads each in turn, so that what else the machine does falls on all alike. Reported: the median of the rounds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makeHome, startServer } from '../test/support/program.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { median, rounded, save } from './lib/report.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '4' }, rounds: { type: 'string', default: '3' }, connections: { type: 'string', default: '64' }, json: { type: 'string' } }
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const connections = Number(values.connections)

const skill = "export default { description: 'Trivial', tools: { echo: { description: 'Echo', parameters: { text: { type: 'string', description: 'A text', required: true } }, run: ({ text }) => text } } }"
const skills = await mkdtemp(join(tmpdir(), 'skillet-bench-'))
await mkdir(join(skills, 'trivial'))
await writeFile(join(skills, 'trivial', 'skill.mjs'), skill)

const raw = spawn(process.execPath, [fileURLToPath(new URL('./lib/raw-server.js', import.meta.url))], { stdio: ['ignore', 'pipe', 'inherit'] })
const [line] = await once(raw.stdout, 'data') as [Buffer]
const homes = [await makeHome(), await makeHome()] as const
const [committed, deferred] = await Promise.all([
  startServer(homes[0], ['--skills', skills, '--log-level', 'error']),
  startServer(homes[1], ['--skills', skills, '--log-level', 'error', '--storage-durability', 'deferred'])
])
const portOf = (url: string): number => Number(new URL(url).port)

const execute = requestOf('POST', '/api/execute', { skill_name: 'trivial', tool_name: 'echo', parameters: { text: 'hello' } })
const health = requestOf('GET', '/api/health')
const cases = [
  { name: 'raw POST', port: Number(line.toString()), request: execute, against: 'raw POST' },
  { name: 'execute, deferred', port: portOf(deferred.url), request: execute, against: 'raw POST' },
  { name: 'execute, committed', port: portOf(committed.url), request: execute, against: 'raw POST' },
  { name: 'raw GET', port: Number(line.toString()), request: health, against: 'raw GET' },
  { name: 'GET /api/health', port: portOf(committed.url), request: health, against: 'raw GET' }
]
const seen = new Map<string, Load[]>(cases.map(({ name }) => [name, []]))
try {
  for (const { port, request } of cases) await load(port, request, connections, 1) // warm up
  for (let round = 0; round < rounds; round++) for (const { name, port, request } of cases) seen.get(name)?.push(await load(port, request, connections, seconds))
} finally {
  raw.kill()
  await Promise.all([committed.stop(), deferred.stop()])
  await Promise.all([...homes.map(home => home.remove()), rm(skills, { recursive: true })])
}

const rows = cases.map(({ name, against }) => {
  const loads = seen.get(name) ?? []
  const ratios = loads.map(({ requests_per_second }, i) => requests_per_second / (seen.get(against)?.[i]?.requests_per_second ?? Number.NaN))
  return {
    question: name,
    requests_per_second: Math.round(median(loads.map(one => one.requests_per_second))),
    ratio_to_raw: rounded(median(ratios), 3),
    median_ms: rounded(median(loads.map(one => one.median_ms))),
    p99_ms: rounded(median(loads.map(one => one.p99_ms))),
    failed: loads.reduce((sum, one) => sum + one.failed, 0)
  }
})
console.table(rows)
await save(values.json, 'execute', { seconds, rounds, connections, rows })
