/**
 * What do authentication and rate limits cost of running a tool over HTTP?
 * `node dist/bench/doors.bench.js [--seconds 3] [--rounds 5] [--connections 64] [--json FILE]`
 *
 * Two servers run at once, each in its own process: one open and without limits; one that requires a key, among a
 * hundred, and counts each request in two windows. Each round loads each in turn. Reported: the median of the rounds.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { hashKey, newKey } from '../kernel/index.ts'
import { makeHome, startServer } from '../test/support/program.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { median, rounded, save } from './lib/report.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, rounds: { type: 'string', default: '5' }, connections: { type: 'string', default: '64' }, json: { type: 'string' } }
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const connections = Number(values.connections)

const skills = await mkdtemp(join(tmpdir(), 'skillet-bench-'))
await mkdir(join(skills, 'trivial'))
await writeFile(join(skills, 'trivial', 'skill.mjs'), "export default { description: 'Trivial', tools: { echo: { description: 'Echo', parameters: { text: { type: 'string', description: 'A text', required: true } }, run: ({ text }) => text } } }")
const keys = Array.from({ length: 100 }, newKey)
const file = join(skills, 'keys.toml')
await writeFile(file, keys.map((key, i) => `[server.keys.key${i}]\nhash = "${hashKey(key)}"\n`).join(''))

const homes = [await makeHome(), await makeHome()] as const
const common = ['--skills', skills, '--log-level', 'error', '--storage-durability', 'deferred']
const limit = '1000000000'
const [open, checked] = await Promise.all([
  startServer(homes[0], common),
  startServer(homes[1], [...common, '--config', file, '--auth-required'], { env: { SKILLET_SERVER_RATE_LIMIT_PER_MINUTE: limit, SKILLET_SERVER_RATE_LIMIT_PER_HOUR: limit } })
])
const portOf = (url: string): number => Number(new URL(url).port)
const body = { skill_name: 'trivial', tool_name: 'echo', parameters: { text: 'hello' } }
const key = { 'X-API-Key': keys[50] ?? '' }
const cases = [
  { name: 'execute', port: portOf(open.url), request: requestOf('POST', '/api/execute', body, key), against: 'execute' },
  { name: 'execute, with key and limits', port: portOf(checked.url), request: requestOf('POST', '/api/execute', body, key), against: 'execute' },
  { name: 'version', port: portOf(open.url), request: requestOf('GET', '/api/version', undefined, key), against: 'version' },
  { name: 'version, with key and limits', port: portOf(checked.url), request: requestOf('GET', '/api/version', undefined, key), against: 'version' }
]
const seen = new Map<string, Load[]>(cases.map(({ name }) => [name, []]))
try {
  for (const { port, request } of cases) await load(port, request, connections, 1) // warm up
  for (let round = 0; round < rounds; round++) for (const { name, port, request } of cases) seen.get(name)?.push(await load(port, request, connections, seconds))
} finally {
  await Promise.all([open.stop(), checked.stop()])
  await Promise.all([...homes.map(home => home.remove()), rm(skills, { recursive: true })])
}

const rows = cases.map(({ name, against }) => {
  const loads = seen.get(name) ?? []
  return {
    question: name,
    requests_per_second: Math.round(median(loads.map(one => one.requests_per_second))),
    ratio: rounded(median(loads.map(({ requests_per_second }, i) => requests_per_second / (seen.get(against)?.[i]?.requests_per_second ?? Number.NaN))), 3),
    median_ms: rounded(median(loads.map(one => one.median_ms))),
    p99_ms: rounded(median(loads.map(one => one.p99_ms))),
    failed: loads.reduce((sum, one) => sum + one.failed, 0)
  }
})
console.table(rows)
await save(values.json, 'doors', { seconds, rounds, connections, rows })
