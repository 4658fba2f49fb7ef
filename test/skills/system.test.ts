import { totalmem } from 'node:os'
import t from 'tap'
import { parseStat } from '../../skills/system/processes.ts'
import { startBundled } from '../support/bundled.ts'

const { call, json, close } = await startBundled()
t.teardown(close)

t.test('overview, load and memory', async t => {
  t.match(await json('system', 'overview', {}), {
    system: String, processors: Number, memory: totalmem(), uptime_seconds: Number
  })
  const { processors, load, load_per_processor } = await json('system', 'load', {}) as {
    processors: number, load: Record<string, number>, load_per_processor: Record<string, number>
  }
  t.ok(processors >= 1 && Object.keys(load).length === 3)
  t.equal(load_per_processor[1], (load[1] ?? -1) / processors)
  const memory = await json('system', 'memory', {}) as Record<'total' | 'available' | 'used', number>
  t.ok(memory.available > 0 && memory.available <= memory.total)
  t.equal(memory.used, memory.total - memory.available)
  await t.rejects(call('system', 'load', { more: 1 }), { code: 'INVALID_PARAMETERS' })
})

t.test('disk', async t => {
  const { total, used, free, available } = await json('system', 'disk', {
    path: '/'
  }) as Record<'total' | 'used' | 'free' | 'available', number>
  t.ok(total > 0 && available <= free)
  t.equal(used + free, total)
  await t.rejects(call('system', 'disk', { path: '/nowhere' }), { message: /ENOENT/ })
})

t.test('processes', { skip: process.platform !== 'linux' }, async t => {
  type Listing = {
    total: number
    processes: { pid: number, parent: number, memory: number, started: string, cpu_seconds: number }[]
  }
  const listing = await json('system', 'processes', { limit: 1000, sort: 'pid' }) as Listing
  const own = listing.processes.find(({ pid }) => pid === process.pid)
  t.match(own, { parent: process.ppid })
  t.ok(own !== undefined && own.memory > 1_000_000 && own.cpu_seconds > 0
    && Math.abs(Date.parse(own.started) - (Date.now() - process.uptime() * 1000)) < 60_000)
  const largest = await json('system', 'processes', { limit: 3 }) as Listing
  t.same(
    largest.processes.map(({ memory }) => memory),
    largest.processes.map(({ memory }) => memory).toSorted((a, b) => b - a)
  )
  t.same(await json('system', 'processes', { name: 'no process has this name' }), { total: 0, processes: [] })
  t.match(parseStat('7 (a) b (c)) S 1 7 7 0 -1 4 1 2 3 4 150 50 0 0 20 0 1 0 1000 5 6', 0), {
    pid: 7, name: 'a) b (c)', parent: 1, state: 'sleeping', cpu_seconds: 2, started: '1970-01-01T00:00:10.000Z'
  })
  await t.rejects(call('system', 'processes', { sort: 'beauty' }), { code: 'INVALID_PARAMETERS' })
})
