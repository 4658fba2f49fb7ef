// What does the main thread do for an execution? A profile, by part of the program: where the ratios of `execute` come
// from.
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { node } from '../test/support/program.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { load, requestOf } from './lib/load.ts'
import { mainThread_us } from './lib/processes.ts'
import { sharesOf, type Frame } from './lib/profile.ts'
import { trivial, withServers } from './lib/servers.ts'
import { median } from './lib/statistics.ts'

const request = requestOf('POST', '/api/execute', trivial)
/** The program before it is bundled: each function is in the file that it was written in. */
const unbundled = fileURLToPath(new URL('../plugins/main.js', import.meta.url))

/** Whose a function is. The innermost that has a file decides: what the engine does for it is its own. */
const parts: readonly (readonly [part: string, file: RegExp])[] = [
  [
    'HTTP: checks, JSON of the request, the reply with its system call',
    /\/plugins\/http\/|\/node_modules\/(fast-json-stringify|ajv)\/|\/kernel\/lib\/json\./
  ],
  [
    'storage: the row, its two entries, the transaction',
    /\/plugins\/storage-lmdb\/|\/node_modules\/(lmdb|ordered-binary)\//
  ],
  ['executor: queue, batches, messages', /\/plugins\/executor-worker\/|\/node_modules\/piscina\//],
  ['kernel: validation, record, states', /\/kernel\//],
  ['messages between threads, timers and queues of Node', /^node:/]
]
const collector = 'garbage collector'
const system = 'reading from sockets, the event loop'

function partOf (stack: readonly Frame[]): string {
  if (stack[0]?.name === '(garbage collector)') return collector
  for (const { url } of stack) for (const [part, file] of parts) if (file.test(url)) return part
  return system
}

export default benchmark({
  question: 'What does the main thread do for an execution?',
  limit_s: 180,
  async run (options) {
    const { rounds, seconds } = roundsOf(options)
    const spent = new Map<string, number[]>([...parts.map(([part]) => part), collector, system].map(part => [part, []]))
    const whole: number[] = []
    const raw: number[] = []
    for (let round = 0; round < Math.min(rounds, 3); round++) {
      const folder = await mkdtemp(join(tmpdir(), 'profile-'))
      const profiled = [
        '-u', 'NODE_OPTIONS', node, '--cpu-prof', '--cpu-prof-interval', '500', '--cpu-prof-dir', folder, unbundled
      ]
      const execution_us = await withServers(async servers => {
        const server = await servers.skillet(['--storage-durability', 'deferred'], { launch: profiled })
        const peer = await servers.raw()
        const cpu = async ({ port, pid }: { port: number, pid: number }): Promise<number> => {
          await load(port, request, 64, seconds)
          await setTimeout(1_000) // a pause that tells the profile where the warming up ends
          const before = mainThread_us(pid)
          const { requests } = await load(port, request, 64, seconds)
          return (mainThread_us(pid) - before) / requests
        }
        raw.push(await cpu(peer))
        return await cpu(server)
      })
      whole.push(execution_us)
      for (const [part, share] of sharesOf(folder, partOf)) spent.get(part)?.push(share * execution_us)
    }
    const rows = [...spent].map(([what, values]): Row => ({ what, unit: 'µs', values }))
      .toSorted((a, b) => median(b.values) - median(a.values))
    const bars = rows.map(({ what, values }) =>
      ({ label: what, value: median(values), low: Math.min(...values), high: Math.max(...values) }))
    return {
      rows: [
        ...rows,
        { what: 'all of it, while it is profiled', unit: 'µs', values: whole },
        { what: 'a raw uWebSockets.js POST, all of it', unit: 'µs', values: raw }
      ],
      plots: [{
        kind: 'bars', name: 'execute-profile',
        title: 'CPU of the main thread per POST /api/execute, while it is profiled', unit: 'µs',
        bars: [
          ...bars,
          {
            label: 'a raw uWebSockets.js POST, all of it', value: median(raw), low: Math.min(...raw),
            high: Math.max(...raw), apart: true
          }
        ]
      }]
    }
  }
})
