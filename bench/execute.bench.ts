// How near does running a tool over HTTP come to a server that only reads and validates the request, and how far beyond
// one that is written with the libraries at hand?
import { benchmark, roundsOf, type Goal, type Row } from './lib/benchmark.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { trivial, withServers, type Server } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const request = requestOf('POST', '/api/execute', trivial)
const raw = 'raw uWebSockets.js POST'

export default benchmark({
  question: 'How near does POST /api/execute of a trivial script tool come to a server that only validates, and how far beyond Fastify + Piscina + better-sqlite3?',
  limit_s: 300,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const deferred = await servers.skillet(['--storage-durability', 'deferred'])
    const committed = await servers.skillet()
    const bare = await servers.raw()
    const normal = await servers.fastify('NORMAL')
    const full = await servers.fastify('FULL')
    const at = (server: Server, connections: number) => () => load(server.port, request, connections, seconds)
    const few = await interleaved<string, Load>({
      raw: at(bare, 64), deferred: at(deferred, 64), committed: at(committed, 64),
      ...(normal !== undefined && { normal: at(normal, 64) }), ...(full !== undefined && { full: at(full, 64) })
    }, rounds)
    const many = await interleaved<string, Load>(
      { raw: at(bare, 256), deferred: at(deferred, 256), committed: at(committed, 256) },
      rounds
    )

    const row = (
      samples: Record<string, Load[]>, connections: number, subject: string, peer: string, against: string, goal: Goal
    ): Row[] => {
      const [own, others] = [samples[subject], samples[peer]]
      if (own === undefined || others === undefined) return []
      return [{
        what: `POST /api/execute, ${subject}, ${connections} connections`, against, unit: '×', goal,
        values: ratios(own.map(rate), others.map(rate)),
        details: {
          requests_per_second: median(own.map(rate)), median_ms: median(own.map(one => one.median_ms)),
          p99_ms: median(own.map(one => one.p99_ms)),
          peer_requests_per_second: median(others.map(rate)), peer_p99_ms: median(others.map(one => one.p99_ms))
        }
      }]
    }
    const bars = [
      { label: `${raw}, 64`, loads: few['raw'] }, { label: 'execute, deferred, 64', loads: few['deferred'] },
      { label: 'execute, committed, 64', loads: few['committed'] },
      { label: 'Fastify + Piscina + SQLite NORMAL, 64', loads: few['normal'] },
      { label: 'Fastify + Piscina + SQLite FULL, 64', loads: few['full'] },
      { label: `${raw}, 256`, loads: many['raw'] }, { label: 'execute, deferred, 256', loads: many['deferred'] },
      { label: 'execute, committed, 256', loads: many['committed'] }
    ]
    return {
      rows: [
        ...row(few, 64, 'deferred', 'raw', raw, { at_least: 0.55 }),
        ...row(many, 256, 'deferred', 'raw', raw, { at_least: 0.65 }),
        ...row(few, 64, 'deferred', 'normal', 'Fastify + Piscina + SQLite NORMAL', { at_least: 6 }),
        ...row(many, 256, 'committed', 'raw', raw, { at_least: 0.55 }),
        ...row(few, 64, 'committed', 'raw', raw, { at_least: 0.35 }),
        ...row(few, 64, 'committed', 'full', 'Fastify + Piscina + SQLite FULL', { at_least: 25 })
      ],
      plots: [{
        kind: 'bars', name: 'execute', title: 'POST /api/execute of a trivial script tool, by connections',
        unit: 'requests/s',
        bars: bars.flatMap(({ label, loads }) => loads === undefined ? [] : [{
          label, value: median(loads.map(rate)), low: Math.min(...loads.map(rate)), high: Math.max(...loads.map(rate))
        }])
      }]
    }
  })
})

function rate ({ requests_per_second }: Load): number {
  return requests_per_second
}
