/**
 * How many trivial script tools run in a second through the executor, beside bare Piscina running a trivial function
 * in as many threads? Interleaved rounds in one process; medians.
 * `node dist/bench/script-tool.bench.js [--rounds 9] [--seconds 1] [--json FILE]`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Piscina } from 'piscina'
import { completeConfig, Scope, silentLogger, type Task } from '../kernel/index.ts'
import plugin from '../plugins/executor-worker/index.ts'
import { median, rounded, save } from './lib/report.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' }, seconds: { type: 'string', default: '1' }, json: { type: 'string' } } })
const rounds = Number(values.rounds)
const round_ms = Number(values.seconds) * 1000
/** Callers that each wait for their run before the next. */
const callers = 64
const threads = availableParallelism()

const directory = mkdtempSync(join(tmpdir(), 'skillet-bench-'))
const module = join(directory, 'skill.mjs')
writeFileSync(module, 'export default { tools: { echo: { run: ({ text }) => text } } }\n')
const bare = join(directory, 'bare.mjs')
writeFileSync(bare, 'export default ({ text }) => text\n')

const scope = new Scope()
scope.defer(() => { rmSync(directory, { recursive: true, force: true }) })
const executor = await plugin.setup({
  config: completeConfig({ execution: { threads } }), scope, log: silentLogger, signal: new AbortController().signal, data_dir: directory,
  health: { degrade () {}, recover () {} }
}, { load_ms: 10_000, idle_ms: 60_000 })
const piscina = new Piscina({ filename: bare, minThreads: threads, maxThreads: threads, idleTimeout: Infinity, atomics: 'disabled', recordTiming: false })
scope.defer(() => piscina.destroy())

const tool = { name: 'echo', description: 'Echo', parameters: [], input_schema: { type: 'object' }, secrets: [] }
const task = (text: string): Task => ({
  execution_id: text, tool, parameters: { text }, timeout_ms: 30_000, config: {},
  skill: { name: 'bench', description: 'Bench', runtime: 'script', permissions: { network: false, write: [], env: [], secrets: [] }, directory, module, revision: '1', trusted: true, tools: [tool] }
})
const observer = { started () {}, progress () {}, log () {} }

const subjects: Record<string, (text: string) => Promise<unknown>> = {
  executor: async text => {
    const outcome = await executor.run(task(text), observer, new AbortController().signal) // one a run, as the kernel makes
    if (outcome.status !== 'success' || outcome.output !== text) throw new Error(JSON.stringify(outcome))
  },
  piscina: text => piscina.run({ text })
}

interface Sample { per_s: number, main_us: number }

/** Runs one subject for a round. The main thread's own CPU time is its event loop's active time. */
async function measure (run: (text: string) => Promise<unknown>): Promise<Sample> {
  const began = performance.now()
  const idle = performance.eventLoopUtilization()
  let runs = 0
  await Promise.all(Array.from({ length: callers }, async (_, caller) => {
    while (performance.now() - began < round_ms) {
      await run(`${caller}`)
      runs++
    }
  }))
  const { active } = performance.eventLoopUtilization(idle)
  return { per_s: runs / (performance.now() - began) * 1000, main_us: active * 1000 / runs }
}

const samples: Record<string, Sample[]> = {}
for (let round = 0; round <= rounds; round++) {
  for (const [name, run] of Object.entries(subjects)) {
    const sample = await measure(run)
    if (round > 0) (samples[name] ??= []).push(sample) // the first warms up
  }
}
const rows = Object.entries(samples).map(([subject, all]) => ({
  subject,
  runs_per_second: Math.round(median(all.map(sample => sample.per_s))),
  main_thread_us_per_run: rounded(median(all.map(sample => sample.main_us)), 1),
  ratio: rounded(median(all.map((sample, i) => sample.per_s / (samples['piscina']?.[i]?.per_s ?? NaN))))
}))
console.table(rows)
await save(values.json, 'script-tool', { callers, threads, rounds, round_ms, rows })
await scope.close()
