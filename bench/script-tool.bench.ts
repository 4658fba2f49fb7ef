/**
 * How many trivial script tools run in a second through the executor, beside bare Piscina running a trivial function
 * in as many threads? Interleaved rounds in one process; medians. Prints a line for people and JSON.
 *
 *   node dist/bench/script-tool.bench.js [rounds] [milliseconds a round]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Piscina } from 'piscina'
import { completeConfig, Scope, silentLogger, type JsonObject, type Task } from '../kernel/index.ts'
import plugin from '../plugins/executor-worker/index.ts'

const rounds = Number(process.argv[2] ?? 9)
const round_ms = Number(process.argv[3] ?? 1000)
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
  skill: { name: 'bench', description: 'Bench', runtime: 'script', permissions: { network: false, write: [], env: [] }, directory, module, revision: '1', trusted: true, tools: [tool] }
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

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN
const samples: Record<string, Sample[]> = {}
for (let round = 0; round <= rounds; round++) {
  for (const [name, run] of Object.entries(subjects)) {
    const sample = await measure(run)
    if (round > 0) (samples[name] ??= []).push(sample) // the first warms up
  }
}
const results: JsonObject = {}
for (const [name, all] of Object.entries(samples)) {
  const per_s = Math.round(median(all.map(sample => sample.per_s)))
  const main_us = Math.round(median(all.map(sample => sample.main_us)) * 10) / 10
  results[name] = { per_s, main_us }
  process.stdout.write(`${name.padEnd(10)} ${String(per_s).padStart(7)} runs/s   ${main_us.toFixed(1).padStart(6)} µs of the main thread a run\n`)
}
const ratio = Math.round(median((samples['executor'] ?? []).map((sample, i) => sample.per_s / (samples['piscina']?.[i]?.per_s ?? NaN))) * 100) / 100
process.stdout.write(`ratio      ${ratio.toFixed(2).padStart(7)}\n`)
process.stdout.write(`${JSON.stringify({ bench: 'script-tool', results, ratio, callers, threads, rounds, round_ms, node: process.version, cpu: cpus()[0]?.model })}\n`)
await scope.close()
