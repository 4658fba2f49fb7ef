// What does the sandbox cost a command? `true`, through the executor alone, at each level of isolation and without, and
// beside them the same command by bubblewrap, where that is installed.
import { spawnSync } from 'node:child_process'
import type { Confinement, Scope } from '../kernel/index.ts'
import native from '../plugins/executor-native/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { commandCall, runCall } from '../test/support/native.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { rateOf, spawned } from './lib/commands.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'
import { withServers } from './lib/servers.ts'

export default benchmark({
  question: 'What throughput of the command `true` is left in the sandbox?',
  limit_s: 120,
  run: options => withServers(async ({ scope }) => {
    const { rounds, seconds } = roundsOf(options)
    const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0
    const plain = await openExecutor(scope, { mode: 'off' })
    const confined = await openExecutor(scope, { mode: 'required', level: 'sandbox' })
    const strict = await openExecutor(scope, { mode: 'required', level: 'strict' })
    const samples = await interleaved<string, number>({
      process: () => rate(plain, seconds),
      sandbox: () => rate(confined, seconds),
      strict: () => rate(strict, seconds),
      spawn: () => rate(() => spawned('true'), seconds),
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
        row('`true` at the level `strict`', 'strict', 'process', { at_least: 0.6 }),
        ...(hasBubblewrap ? [row('`true` by bubblewrap, everything unshared', 'bubblewrap', 'spawn')] : [])
      ]
    }
  })
})

async function rate (run: () => Promise<void>, seconds: number): Promise<number> {
  return (await rateOf(run, seconds)).rate
}

async function openExecutor (
  scope: Scope, isolation: { mode: 'off' | 'required', level?: Confinement }
): Promise<() => Promise<void>> {
  const { service: executor, close } = await openPlugin(native, { config: { isolation } })
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
