// How near does running a command come to the most the system can do, and what does it cost the server?
// `true`, over HTTP and through the executor alone, beside posix_spawn and wait in a C loop on all cores.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Scope } from '../kernel/index.ts'
import native from '../plugins/executor-native/index.ts'
import { commandCall, runCall } from '../test/support/native.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { rateOf, spawned } from './lib/commands.ts'
import { load, requestOf } from './lib/load.ts'
import { compiled } from './lib/native.ts'
import { mainThread_us } from './lib/processes.ts'
import { withServers, type Server } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const request = requestOf('POST', '/api/execute', { skill_name: 'command', tool_name: 'true', parameters: {} })

/** Runs a second, and the CPU of the server's main thread for each, in µs. */
interface Sample { rate: number, main_us: number }

export default benchmark({
  question: 'How near does running the command `true` come to posix_spawn and wait in a C loop on all cores?',
  limit_s: 180,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const loop = compiled('bench/peers/spawn-loop.c')
    if (loop === undefined) throw new Error('there is no C compiler')
    const quick = await servers.skillet(['--storage-durability', 'deferred'])
    const slow = await servers.skillet(['--storage-durability', 'deferred'], {
      // Looked for in the directory the server is started in.
      prepare: home => writeFile(join(home.folder, 'skillet.toml'), '[plugin.executor-native]\nhelper = "node"\n')
    })
    const run = await openExecutor(servers.scope)
    const samples = await interleaved<string, Sample>({
      c: () => spawnLoop(loop, seconds),
      http: () => overHttp(quick, seconds),
      node: () => overHttp(slow, seconds),
      executor: () => alone(run, seconds),
      spawn: () => alone(() => spawned('true'), seconds)
    }, rounds)
    const rates = (name: string): number[] => samples[name]?.map(one => one.rate) ?? []
    const row = (what: string, name: string, goal?: Row['goal']): Row => ({
      what, against: 'posix_spawn in C on all cores', unit: '×', values: ratios(rates(name), rates('c')),
      ...(goal !== undefined && { goal }),
      details: {
        runs_per_second: median(rates(name)),
        main_thread_us: median(samples[name]?.map(one => one.main_us) ?? []),
        peer_runs_per_second: median(rates('c'))
      }
    })
    return {
      rows: [
        row('POST /api/execute of `true`', 'http', { at_least: 0.6 }),
        row('POST /api/execute of `true`, without the C helper', 'node', { at_least: 0.33 }),
        row('`true` through the executor alone', 'executor'),
        row('`true` by child_process.spawn', 'spawn')
      ],
      plots: [{
        kind: 'bars', name: 'native-spawn', title: 'Runs of the command `true`', unit: 'runs/s',
        bars: [
          ['posix_spawn in C, all cores', 'c'],
          ['POST /api/execute', 'http'],
          ['the same, without the C helper', 'node'],
          ['the executor alone', 'executor'],
          ['child_process.spawn', 'spawn']
        ].map(([label = '', name = '']) =>
          ({ label, value: median(rates(name)), low: Math.min(...rates(name)), high: Math.max(...rates(name)) }))
      }]
    }
  })
})

async function spawnLoop (program: string, seconds: number): Promise<Sample> {
  const child = spawn(program, [`${availableParallelism()}`, `${seconds}`, 'true'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const closed = once(child, 'close')
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('')
  await closed
  if (child.exitCode !== 0) throw new Error(`the loop ended with ${child.exitCode ?? child.signalCode}`)
  const { runs, seconds: took_s } = JSON.parse(text) as { runs: number, seconds: number }
  return { rate: runs / took_s, main_us: 0 }
}

async function overHttp ({ port, pid }: Server, seconds: number): Promise<Sample> {
  const before = mainThread_us(pid)
  const { requests, requests_per_second } = await load(port, request, 64, seconds)
  return { rate: requests_per_second, main_us: (mainThread_us(pid) - before) / requests }
}

async function alone (run: () => Promise<void>, seconds: number): Promise<Sample> {
  const before = mainThread_us(process.pid)
  const { runs, rate } = await rateOf(run, seconds)
  return { rate, main_us: (mainThread_us(process.pid) - before) / runs }
}

async function openExecutor (scope: Scope): Promise<() => Promise<void>> {
  const { service: executor, close } = await openPlugin(native)
  scope.defer(close)
  const call = commandCall(['true'])
  return async () => {
    const { status } = await runCall(executor, call)
    if (status !== 'success') throw new Error(`true ended as ${status}`)
  }
}
