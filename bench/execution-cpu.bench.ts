// What does an execution cost the main thread, beyond what a server that only validates takes?
import { benchmark, roundsOf } from './lib/benchmark.ts'
import { load, requestOf } from './lib/load.ts'
import { mainThread_us } from './lib/processes.ts'
import { trivial, withServers, type Server } from './lib/servers.ts'
import { interleaved, median } from './lib/statistics.ts'

const request = requestOf('POST', '/api/execute', trivial)

export default benchmark({
  question: 'How much CPU does an execution cost the main thread, beyond a raw uWebSockets.js POST?',
  limit_s: 120,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const deferred = await servers.skillet(['--storage-durability', 'deferred'])
    const committed = await servers.skillet()
    const raw = await servers.raw()
    const cpu = ({ port, pid }: Server) => async (): Promise<number> => {
      const before = mainThread_us(pid)
      const { requests } = await load(port, request, 64, seconds)
      return (mainThread_us(pid) - before) / requests
    }
    const samples = await interleaved({ raw: cpu(raw), deferred: cpu(deferred), committed: cpu(committed) }, rounds)
    const beyond = (each: number[]): number[] => each.map((us, i) => us - (samples.raw[i] ?? Number.NaN))
    const raw_us = median(samples.raw)
    return {
      rows: [
        {
          what: 'CPU of the main thread per execution, deferred',
          against: 'raw uWebSockets.js POST (difference)',
          unit: 'µs',
          values: beyond(samples.deferred),
          goal: { at_most: 25 },
          details: { whole_us: median(samples.deferred), peer_us: raw_us }
        },
        {
          what: 'CPU of the main thread per execution, committed',
          against: 'raw uWebSockets.js POST (difference)',
          unit: 'µs',
          values: beyond(samples.committed),
          details: { whole_us: median(samples.committed), peer_us: raw_us }
        }
      ]
    }
  })
})
