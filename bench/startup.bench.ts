// How long does a command take beside an empty Node process? `list` and `run` of the built program, and `serve` up to its
// first healthy answer, as whole processes, in interleaved rounds.
// Usage: node dist/bench/startup.bench.js [--json FILE]
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, rounded, save } from './lib/report.ts'

const rounds = 11
const { values } = parseArgs({ options: { json: { type: 'string' } } })
const program = fileURLToPath(new URL('../program/main.js', import.meta.url))
const data_dir = mkdtempSync(join(tmpdir(), 'skillet-startup-'))
process.once('exit', () => { rmSync(data_dir, { recursive: true, force: true }) })

/** A whole process, from its start to its end. @returns milliseconds */
async function whole (args: readonly string[]): Promise<number> {
  const began = performance.now()
  await new Promise<void>((resolve, reject) => {
    spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
      .on('error', reject)
      .on('close', code => { if (code === 0) resolve(); else reject(new Error(`${args.join(' ')} exited with ${code}`)) })
  })
  return performance.now() - began
}

/** A server, from its start to its first healthy answer. @returns milliseconds */
async function healthy (): Promise<number> {
  const began = performance.now()
  const server = spawn(process.execPath, [program, 'serve', '--port', '0', '--json', '--data-dir', data_dir, '--log-level', 'silent'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => { server.on('close', resolve) })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let text = ''
      server.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        const found = /http:[^"\s]+/.exec(text)?.[0]
        if (found !== undefined && text.includes('\n')) resolve(found)
      }).on('end', () => { reject(new Error(`the server did not start: ${text}`)) })
    })
    const status = await new Promise<number | undefined>((resolve, reject) => {
      get(`${url}/api/health`, reply => { reply.resume().on('end', () => { resolve(reply.statusCode) }) }).on('error', reject)
    })
    if (status !== 200) throw new Error(`health answered ${status}`)
    return performance.now() - began
  } finally {
    server.kill('SIGTERM')
    await ended
  }
}

const ways = {
  'an empty Node process': () => whole(['-e', '0']),
  'skillet list': () => whole([program, 'list', '--data-dir', data_dir]),
  'skillet run text:count': () => whole([program, 'run', 'text:count', 'text=a', '--data-dir', data_dir]),
  'first healthy answer': healthy
}
const measured = new Map(Object.keys(ways).map(name => [name, [] as number[]]))
for (const way of Object.values(ways)) await way() // the first one describes the skills
for (let i = 0; i < rounds; i++) {
  for (const [name, way] of Object.entries(ways)) measured.get(name)?.push(await way())
}
const empty_ms = median(measured.get('an empty Node process') ?? [])
const found = Object.fromEntries([...measured].map(([name, times]) => [name, { ms: rounded(median(times), 0), 'times an empty process': rounded(median(times) / empty_ms) }]))
console.table(found)
await save(values.json, 'How long does a command take beside an empty Node process?', { rounds, found })
