// How long does a command take beside an empty Node process? `list` and `run` of the built program, of a script tool
// and of a command, and `serve` up to its first healthy answer, as whole processes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeHome, program, startServer, type Home } from '../test/support/program.ts'
import { benchmark, type Row } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

export default benchmark({
  question: 'How long do `list`, `run` and the first healthy answer of a server take, beside an empty Node process?',
  limit_s: 180,
  async run ({ quick }) {
    const home = await makeHome()
    try {
      const folder = join(home.skills, 'native')
      await mkdir(folder, { recursive: true })
      await writeFile(
        join(folder, 'skill.toml'),
        'description = "A command"\n[[tools]]\nname = "true"\ndescription = "Does nothing"\ncommand = ["true"]\n'
      )
      const samples = await interleaved({
        empty: () => whole(home, ['-e', '0']),
        healthy: () => healthy(home),
        list: () => whole(home, [program, 'list']),
        script: () => whole(home, [program, 'run', 'text:count', 'text=a']),
        native: () => whole(home, [program, 'run', 'native:true'])
      }, quick ? 2 : 11)
      const row = (what: string, times: number[], goal?: Row['goal']): Row => ({
        what, against: 'an empty Node process', unit: '×', values: ratios(times, samples.empty),
        ...(goal !== undefined && { goal }),
        details: { ms: median(times), peer_ms: median(samples.empty) }
      })
      return {
        rows: [
          row('first healthy answer after the start', samples.healthy, { at_most: 6 }),
          row('skillet list', samples.list, { at_most: 4 }),
          row('skillet run text:count', samples.script, { at_most: 4 }),
          row('skillet run of the command true', samples.native, { at_most: 4 })
        ]
      }
    } finally {
      await home.remove()
    }
  }
})

/** A whole process, from its start to its end. @returns milliseconds */
async function whole (home: Home, args: readonly string[]): Promise<number> {
  const began = performance.now()
  const child = spawn(process.execPath, args, { env: home.env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close') as [number | null]
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  return performance.now() - began
}

/** A server, from its start to its first healthy answer. @returns milliseconds */
async function healthy (home: Home): Promise<number> {
  const began = performance.now()
  const server = await startServer(home, ['--log-level', 'error'])
  try {
    const { status } = await (await fetch(`${server.url}/api/health`)).json() as { status: string }
    if (status !== 'healthy') throw new Error(`health is ${status}`)
    return performance.now() - began
  } finally {
    await server.stop()
  }
}
