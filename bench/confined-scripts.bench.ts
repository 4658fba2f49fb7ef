// What does a process of its own in the sandbox cost a script tool? A trivial tool, through the executor alone, in a
// thread and in a confined process: many at once, and one after the other.
import { fileURLToPath } from 'node:url'
import type { Scope } from '../kernel/index.ts'
import worker from '../plugins/executor-worker/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { callOf } from '../plugins/testing/skill.ts'
import { runCall } from '../test/support/native.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'
import { withServers } from './lib/servers.ts'

/** Calls at once, as from as many connections. */
const together = 64
const module = fileURLToPath(new URL('../test/fixtures/executor-worker/subject.mjs', import.meta.url))

export default benchmark({
  question: 'What throughput of a trivial script tool is left in a confined process?',
  limit_s: 120,
  run: options => withServers(async ({ scope }) => {
    const { rounds, seconds } = roundsOf(options)
    const thread = await openExecutor(scope, 'off')
    const confined = await openExecutor(scope, 'required')
    const samples = await interleaved<string, number>({
      thread: () => rate(thread, together, seconds),
      sandbox: () => rate(confined, together, seconds),
      'thread, alone': () => rate(thread, 1, seconds),
      'sandbox, alone': () => rate(confined, 1, seconds)
    }, rounds)
    const row = (what: string, name: string, against: string): Row => ({
      what, against, unit: '×', values: ratios(samples[name] ?? [], samples[against] ?? []),
      details: {
        runs_per_second: median(samples[name] ?? []), peer_runs_per_second: median(samples[against] ?? []),
        each_us: 1e6 / median(samples[name] ?? []), peer_each_us: 1e6 / median(samples[against] ?? [])
      }
    })
    return {
      rows: [
        row(`a trivial script tool in the sandbox, ${together} at once`, 'sandbox', 'thread'),
        row('a trivial script tool in the sandbox, one after the other', 'sandbox, alone', 'thread, alone')
      ]
    }
  })
})

/** Runs per second, of so many at once. */
async function rate (run: () => Promise<void>, atOnce: number, seconds: number): Promise<number> {
  let runs = 0
  const begin_ms = performance.now()
  const until_ms = begin_ms + seconds * 1000
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (performance.now() < until_ms) {
      await run()
      runs++
    }
  }))
  return runs / (performance.now() - begin_ms) * 1000
}

async function openExecutor (scope: Scope, mode: 'off' | 'required'): Promise<() => Promise<void>> {
  const { service: executor, close } = await openPlugin(worker, { config: { isolation: { mode } } })
  scope.defer(close)
  const call = callOf('script', { name: 'echo' }, { text: 'a' }, { module, trusted: false })
  return async () => {
    const outcome = await runCall(executor, call)
    if (outcome.status !== 'success') throw new Error(`echo ended as ${outcome.status}`)
  }
}
