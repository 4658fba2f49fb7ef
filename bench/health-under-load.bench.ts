// Does the server stay responsive while every core computes for tools?
import { availableParallelism } from 'node:os'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const request = requestOf('GET', '/api/health')

export default benchmark({
  question: 'How much longer does GET /api/health take while every core runs CPU-bound tools?',
  limit_s: 120,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const { port, url } = await servers.skillet(['--storage-durability', 'deferred'])
    const compute = async (ms: number): Promise<void> => {
      const body = JSON.stringify({ skill_name: 'trivial', tool_name: 'compute', parameters: { ms } })
      const reply =
        await fetch(`${url}/api/execute`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      if (await reply.text(), reply.status !== 200) throw new Error(`compute answered ${reply.status}`)
    }
    await compute(200) // so that it is known to be slow
    const busy = (connections: number) => async (): Promise<Load> => {
      const tools = Promise.all(Array.from({ length: availableParallelism() }, () => compute(1000 * (seconds + 1))))
      await new Promise(resolve => setTimeout(resolve, 200))
      const seen = await load(port, request, connections, seconds)
      await tools
      return seen
    }
    const samples = await interleaved({
      idle: () => load(port, request, 64, seconds), busy: busy(64), idleOne: () => load(port, request, 1, seconds),
      busyOne: busy(1)
    }, rounds)
    const p99 = (loads: Load[]): number[] => loads.map(one => one.p99_ms)
    const row = (connections: number, idle: Load[], busy: Load[], goal?: Row['goal']): Row => ({
      what: `p99 of GET /api/health while every core computes, ${connections} connection${connections === 1 ? '' : 's'}`,
      against: 'idle', unit: '×', values: ratios(p99(busy), p99(idle)), ...(goal !== undefined && { goal }),
      details: {
        p99_ms: median(p99(busy)),
        median_ms: median(busy.map(one => one.median_ms)),
        peer_p99_ms: median(p99(idle)),
        peer_median_ms: median(idle.map(one => one.median_ms))
      }
    })
    return { rows: [row(64, samples.idle, samples.busy, { at_most: 2 }), row(1, samples.idleOne, samples.busyOne)] }
  })
})
