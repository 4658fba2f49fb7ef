// How fast are commands started, and what does it cost the server? `true` through the native executor's helper, beside
// child_process.spawn in the same process, with the same concurrency, in interleaved rounds.
// Usage: node dist/bench/native-spawn.bench.js [--json FILE] [--ballast-mib N]: memory that the server holds besides.
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { completeConfig, parseCommand, processesOf, Scope, silentLogger, type Task, type TaskObserver } from '../kernel/index.ts'
import native from '../plugins/executor-native/index.ts'
import { median, save } from './lib/report.ts'

const rounds = 5
const runsPerRound = 400

const { values } = parseArgs({ options: { json: { type: 'string' }, 'ballast-mib': { type: 'string', default: '0' } } })
const ballast = Buffer.alloc(Number(values['ballast-mib']) * 1_048_576, 1)

const config = completeConfig({})
const concurrency = processesOf(config)
const scope = new Scope()
const executor = await native.setup({
  config, scope, log: silentLogger, signal: new AbortController().signal, data_dir: '/', health: { degrade () {}, recover () {} }
}, { helpers: 1 })

const tool = { name: 'true', description: 'Does nothing', parameters: [], input_schema: {}, secrets: [], command: parseCommand({ command: ['true'] }, []) }
const skill = {
  name: 'bench', description: 'Bench', runtime: 'native', permissions: { network: false, write: [], env: [], secrets: [] }, directory: '/', revision: '1', trusted: true, tools: [tool]
}
const task: Task = { execution_id: 'bench', skill, tool, parameters: {}, timeout_ms: 60_000, config: {} }
const observer: TaskObserver = { started () {}, progress () {}, log () {} }

const ways = {
  async helper (): Promise<void> {
    const { status } = await executor.run(task, observer, new AbortController().signal)
    if (status !== 'success') throw new Error(`true ended as ${status}`)
  },
  async direct (): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const child = spawn('true', [], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
      child.stdout.resume()
      child.stderr.resume()
      child.on('error', reject).on('close', code => { if (code === 0) resolve(); else reject(new Error(`true exited with ${code}`)) })
    })
  }
}
type Way = keyof typeof ways

interface Round { runs_per_second: number, cpu_us_per_run: number, blocked_share: number }

async function round (way: Way): Promise<Round> {
  const before = process.cpuUsage()
  const loop = performance.eventLoopUtilization()
  const began = performance.now()
  let left = runsPerRound
  await Promise.all(Array.from({ length: concurrency }, async () => { while (left-- > 0) await ways[way]() }))
  const wall_ms = performance.now() - began
  const { user, system } = process.cpuUsage(before)
  return {
    runs_per_second: runsPerRound / wall_ms * 1000,
    cpu_us_per_run: (user + system) / runsPerRound,
    blocked_share: performance.eventLoopUtilization(loop).utilization
  }
}

const medianOf = (all: Round[]): Round => ({
  runs_per_second: median(all.map(round => round.runs_per_second)),
  cpu_us_per_run: median(all.map(round => round.cpu_us_per_run)),
  blocked_share: median(all.map(round => round.blocked_share))
})

const measured: Record<Way, Round[]> = { helper: [], direct: [] }
for (const way of ['helper', 'direct'] as const) await round(way) // warm up; starts the helper
for (let i = 0; i < rounds; i++) for (const way of ['helper', 'direct'] as const) measured[way].push(await round(way))
await scope.close()

const result = { helper: medianOf(measured.helper), direct: medianOf(measured.direct) }
const ratio = result.helper.runs_per_second / result.direct.runs_per_second
console.table({
  'through the helper': row(result.helper),
  'child_process.spawn': row(result.direct)
})
console.log(`helper / spawn: ${ratio.toFixed(2)} × the runs a second, ${(result.helper.cpu_us_per_run / result.direct.cpu_us_per_run).toFixed(3)} × the server's CPU (medians of ${rounds} rounds of ${runsPerRound} at concurrency ${concurrency}, the server holding ${ballast.length / 1_048_576} MiB besides)`)
await save(values.json, 'native-spawn', { rounds, runsPerRound, concurrency, ballast_bytes: ballast.length, ratio, result, measured })

function row ({ runs_per_second, cpu_us_per_run, blocked_share }: Round): Record<string, string> {
  return { 'runs/s': runs_per_second.toFixed(0), 'server CPU, µs/run': cpu_us_per_run.toFixed(0), 'server\'s event loop busy': `${(100 * blocked_share).toFixed(0)} %` }
}
