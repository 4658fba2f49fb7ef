// How much memory do all processes together take: after the start, with idle connections, and over many executions?
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { benchmark, type Options, type Row } from './lib/benchmark.ts'
import { load, requestOf } from './lib/load.ts'
import { memoryOf } from './lib/processes.ts'
import { trivial, withServers, type SkilletServer } from './lib/servers.ts'
import { median } from './lib/statistics.ts'
import type { Plot } from './lib/plot.ts'

const MB = 1_000_000

export default benchmark({
  question: 'How much memory do all processes together take: idle, with 10,000 idle connections, and over 1,000,000 executions?',
  limit_s: 600,
  run: options => withServers(async servers => {
    const first = await servers.skillet(['--storage-durability', 'deferred'])
    await settled()
    const { total, processes } = memoryOf(first.pid)
    const idle: Row = {
      what: 'memory of all processes, idle after the start',
      unit: 'MB',
      values: [total / MB],
      goal: { at_most: 110 },
      details: { processes }
    }
    const connections = await idleConnections(first, options)
    const growth = await overExecutions(first, options)
    return { rows: [idle, connections, growth.row], plots: [growth.plot] }
  })
})

/** What that many connections cost that have sent nothing for a while. */
async function idleConnections ({ pid, port }: SkilletServer, { quick }: Options): Promise<Row> {
  const count = quick ? 1_000 : 10_000
  await load(port, requestOf('GET', '/livez'), 64, 1) // what any first request allocates is not the connections'
  await settled()
  const before = memoryOf(pid).total
  const sockets: Socket[] = []
  try {
    for (let i = 0; i < count; i++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      sockets.push(socket)
      if (i % 100 === 99) await once(socket, 'connect')
    }
    await settled()
    const open = sockets.filter(socket => socket.readyState === 'open').length
    if (open < count) throw new Error(`of ${count} connections ${open} are open`)
    return {
      what: `memory of ${count.toLocaleString('en-US')} idle connections`,
      unit: 'MB',
      values: [(memoryOf(pid).total - before) / MB],
      goal: { at_most: 20 }
    }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

/** Executions one after the other, and the memory after each tenth of them. The first tenth warms up. */
async function overExecutions ({ pid, port }: SkilletServer, { quick }: Options): Promise<{ row: Row, plot: Plot }> {
  const wanted = quick ? 50_000 : 1_000_000
  const request = requestOf('POST', '/api/execute', trivial)
  const points: [number, number][] = []
  for (let done = 0; done < wanted;) {
    done += (await load(port, request, 64, quick ? 0.5 : 2)).requests
    points.push([done, memoryOf(pid).own / MB])
  }
  const between = (from: number, to: number): number =>
    median(points.filter(([done]) => done >= from * wanted && done <= to * wanted).map(([, mb]) => mb))
  const [early, late] = [between(0.1, 0.3), between(0.8, 2)]
  return {
    row: {
      what: `memory in the last fifth of ${wanted.toLocaleString('en-US')} executions`,
      against: 'after the first tenth', unit: '×', values: [late / early], goal: { at_most: 1.1 },
      details: { early_MB: early, late_MB: late, most_MB: Math.max(...points.map(([, mb]) => mb)) }
    },
    plot: {
      kind: 'lines',
      name: 'memory',
      title: 'Memory of all processes over executions (without pages of the history\'s file)',
      x: 'executions',
      y: 'MB',
      series: [{ label: 'heaps, stacks, buffers', points }]
    }
  }
}

/** Long enough for what a start or a burst left to do. */
async function settled (): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 3_000))
}
