// How many trivial script tools run in a second through the executor, beside bare Piscina running a trivial function in
// as many threads?
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Piscina } from 'piscina'
import worker from '../plugins/executor-worker/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { skillOf } from '../plugins/testing/skill.ts'
import { benchmark, roundsOf } from './lib/benchmark.ts'
import { withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

/** Callers that each wait for their run before the next. */
const callers = 64
const threads = availableParallelism()
const observer = { started () {}, progress () {}, log () {} }

export default benchmark({
  question: 'How many trivial script tools does the executor run in a second, beside bare Piscina?',
  limit_s: 90,
  run: options => withServers(async ({ scope }) => {
    const { rounds, seconds } = roundsOf(options)
    const directory = mkdtempSync(join(tmpdir(), 'skillet-bench-'))
    scope.defer(() => { rmSync(directory, { recursive: true, force: true }) })
    const module = join(directory, 'skill.mjs')
    writeFileSync(module, 'export default { tools: { echo: { run: ({ text }) => text } } }\n')
    const bare = join(directory, 'bare.mjs')
    writeFileSync(bare, 'export default ({ text }) => text\n')
    const { service: executor, close } = await openPlugin(worker, { config: { execution: { threads } } })
    scope.defer(close)
    const piscina = new Piscina({
      filename: bare, minThreads: threads, maxThreads: threads, idleTimeout: Infinity, atomics: 'disabled',
      recordTiming: false
    })
    scope.defer(() => piscina.destroy())
    const { skill, tool } = skillOf('script', { name: 'echo' }, { directory, module })
    const viaExecutor = async (text: string): Promise<void> => {
      const outcome = await executor.run(
        { execution_id: text, skill, tool, parameters: { text }, timeout_ms: 30_000, config: {} },
        observer,
        new AbortController().signal
      )
      if (outcome.status !== 'success' || outcome.output !== text) throw new Error(JSON.stringify(outcome))
    }
    const samples = await interleaved({
      executor: () => measured(viaExecutor, seconds),
      piscina: () => measured(text => piscina.run({ text }), seconds)
    }, rounds)
    const rates = { own: samples.executor.map(one => one.rate), peer: samples.piscina.map(one => one.rate) }
    return {
      rows: [{
        what: 'trivial script tools through the executor', against: 'bare Piscina', unit: '×',
        values: ratios(rates.own, rates.peer),
        details: {
          runs_per_second: median(rates.own), main_thread_us: median(samples.executor.map(one => one.main_us)),
          peer_runs_per_second: median(rates.peer), peer_main_thread_us: median(samples.piscina.map(one => one.main_us))
        }
      }]
    }
  })
})

/** The main thread's own time is its event loop's active time. */
async function measured (
  run: (text: string) => Promise<unknown>,
  seconds: number
): Promise<{ rate: number, main_us: number }> {
  const began = performance.now()
  const idle = performance.eventLoopUtilization()
  let runs = 0
  await Promise.all(Array.from({ length: callers }, async (_, caller) => {
    while (performance.now() - began < seconds * 1000) {
      await run(`${caller}`)
      runs++
    }
  }))
  const { active } = performance.eventLoopUtilization(idle)
  return { rate: runs / (performance.now() - began) * 1000, main_us: active * 1000 / runs }
}
