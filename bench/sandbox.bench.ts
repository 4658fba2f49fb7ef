// What does the sandbox cost a command? `true`, through the executor alone, in the sandbox and without, and beside them
// the same command by bubblewrap, where that is installed.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import type { Scope } from '../kernel/index.ts'
import native from '../plugins/executor-native/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { commandCall, runCall } from '../test/support/native.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'
import { withServers } from './lib/servers.ts'

const concurrency = 4 * availableParallelism()

export default benchmark({
  question: 'What throughput of the command `true` is left in the sandbox?',
  limit_s: 120,
  run: options => withServers(async ({ scope }) => {
    const { rounds, seconds } = roundsOf(options)
    const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0
    const plain = await openExecutor(scope, 'off')
    const confined = await openExecutor(scope, 'required')
    const samples = await interleaved<string, number>({
      process: () => rate(plain, seconds),
      sandbox: () => rate(confined, seconds),
      spawn: () => rate(() => spawned('true', []), seconds),
      ...(hasBubblewrap && { bubblewrap: () => rate(bubblewrapped, seconds) })
    }, rounds)
    const row = (what: string, name: string, against: string, goal?: Row['goal']): Row => ({
      what, against, unit: '×', values: ratios(samples[name] ?? [], samples[against] ?? []),
      ...(goal !== undefined && { goal }),
      details: { runs_per_second: median(samples[name] ?? []), peer_runs_per_second: median(samples[against] ?? []) }
    })
    return {
      rows: [
        row('`true` in the sandbox', 'sandbox', 'process', { at_least: 0.95 }),
        ...(hasBubblewrap ? [row('`true` by bubblewrap, everything unshared', 'bubblewrap', 'spawn')] : [])
      ]
    }
  })
})

/** Runs a second of a command that runs as often at once as the executor allows by default. */
async function rate (run: () => Promise<void>, seconds: number): Promise<number> {
  const began = performance.now()
  let runs = 0
  await Promise.all(Array.from({ length: concurrency }, async () => {
    while (performance.now() - began < seconds * 1000) {
      await run()
      runs++
    }
  }))
  return runs / (performance.now() - began) * 1000
}

async function openExecutor (scope: Scope, mode: 'off' | 'required'): Promise<() => Promise<void>> {
  const { service: executor, close } = await openPlugin(native, { config: { isolation: { mode } } })
  scope.defer(close)
  const trusted = commandCall(['true'], {}, { directory: import.meta.dirname })
  const call = { ...trusted, skill: { ...trusted.skill, trusted: false } }
  return async () => {
    const outcome = await runCall(executor, call)
    const reason = outcome.status === 'failed' ? `: ${outcome.error.message}` : ''
    if (outcome.status !== 'success') throw new Error(`true ended as ${outcome.status}${reason}`)
  }
}

const bubblewrapped = (): Promise<void> =>
  spawned('bwrap', ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc', 'true'])

async function spawned (program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.resume()
  child.stderr.resume()
  const [code] = await once(child, 'close') as [number | null]
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
}
