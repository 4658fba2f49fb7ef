// What do authentication and rate limits cost of running a tool over HTTP?
// Two servers: one open and without limits; one that requires a key, among a hundred, and counts each request in two
// windows.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashKey, newKey } from '../kernel/index.ts'
import { benchmark, roundsOf } from './lib/benchmark.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { trivial, withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const limit = '1000000000'

export default benchmark({
  question: 'What do authentication and rate limits cost of POST /api/execute?',
  limit_s: 120,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const keys = Array.from({ length: 100 }, newKey)
    const open = await servers.skillet(['--storage-durability', 'deferred'])
    const file = join(open.home.folder, 'keys.toml')
    await writeFile(file, keys.map((key, i) => `[server.keys.key${i}]\nhash = "${hashKey(key)}"\n`).join(''))
    const checked = await servers.skillet(
      ['--storage-durability', 'deferred', '--config', file, '--auth-required'],
      { env: { SKILLET_SERVER_RATE_LIMIT_PER_MINUTE: limit, SKILLET_SERVER_RATE_LIMIT_PER_HOUR: limit } }
    )
    const request = requestOf('POST', '/api/execute', trivial, { 'X-API-Key': keys[50] ?? '' })
    const samples = await interleaved({
      open: () => load(open.port, request, 64, seconds),
      checked: () => load(checked.port, request, 64, seconds)
    }, rounds)
    const rates = (loads: Load[]): number[] => loads.map(one => one.requests_per_second)
    return {
      rows: [{
        what: 'POST /api/execute with a key and rate limits', against: 'without them', unit: '×',
        goal: { at_least: 0.9 },
        values: ratios(rates(samples.checked), rates(samples.open)),
        details: {
          requests_per_second: median(rates(samples.checked)),
          peer_requests_per_second: median(rates(samples.open))
        }
      }]
    }
  })
})
