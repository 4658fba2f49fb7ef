/**
 * What does MCP add to running a tool, over standard input and over HTTP, and how fast does `skillet mcp` start?
 * `node dist/bench/mcp.bench.js [--calls 50] [--rounds 5] [--json FILE]`
 *
 * One server and one `skillet mcp` run at once. Each round calls the same tool one by one through each door in turn, against
 * POST /api/execute, all by the same raw clients; then fifty at once over standard input, whose answers must be those of their calls.
 * Reported: the medians, and the share of a call's time that is the protocol's.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { writeMcpSkills } from '../test/support/mcp-skills.ts'
import { makeHome, program, startServer, type Home } from '../test/support/program.ts'
import { median, rounded, save } from './lib/report.ts'

const { values } = parseArgs({ options: { calls: { type: 'string', default: '50' }, rounds: { type: 'string', default: '5' }, json: { type: 'string' } } })
const calls = Number(values.calls)
const rounds = Number(values.rounds)
const atOnce = 50

const initialize = { jsonrpc: '2.0', id: 'init', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } } }
const job = (text: string): object => ({ skill_name: 'trial', tool_name: 'echo', parameters: { text } })
const call = (id: number, meta?: object): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'execute', arguments: job(`call ${id}`), ...(meta !== undefined && { _meta: meta }) } })

/** A raw client of `skillet mcp`. */
class Agent {
  readonly #stdin: Writable
  readonly #lines: Interface
  readonly #waiting = new Map<unknown, (line: string) => void>()
  readonly exited: Promise<unknown>

  constructor (home: Home) {
    const child = spawn(process.execPath, [program, 'mcp', '--storage-durability', 'deferred'], { cwd: home.folder, env: home.env, stdio: ['pipe', 'pipe', 'ignore'] })
    this.exited = once(child, 'exit')
    this.#stdin = child.stdin
    const stdout: Readable = child.stdout
    this.#lines = createInterface(stdout)
    this.#lines.on('line', line => {
      const { id } = JSON.parse(line) as { id?: unknown }
      this.#waiting.get(id)?.(line)
      this.#waiting.delete(id)
    })
  }

  ask (message: object & { id?: unknown }): Promise<string> {
    return new Promise(resolve => {
      this.#waiting.set(message.id, resolve)
      this.#stdin.write(`${JSON.stringify(message)}\n`)
    })
  }

  async end (): Promise<void> {
    this.#stdin.end()
    await this.exited
  }
}

async function timed (work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

const home = await makeHome()
await writeMcpSkills(home.skills)
const server = await startServer(home, ['--log-level', 'error', '--storage-durability', 'deferred'])
const agent = new Agent(home)
const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> => {
  const response = await fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers } })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response
}
await agent.ask(initialize)
const opened = await post('/mcp', initialize)
await opened.text()
const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'execute' }
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }

const doors: Record<string, (id: number) => Promise<string>> = {
  'POST /api/execute': async id => await (await post('/api/execute', job(`call ${id}`))).text(),
  'stdio': id => agent.ask({ ...call(id), id }),
  '/mcp, session of 2025': async id => await (await post('/mcp', call(id), session)).text(),
  '/mcp, 2026-07-28': async id => await (await post('/mcp', call(id, meta), modern)).text()
}
const seen = new Map<string, number[]>(Object.keys(doors).map(name => [name, []]))
const many: number[] = []
const starts: { empty: number[], mcp: number[] } = { empty: [], mcp: [] }
let id = 0
try {
  for (const ask of Object.values(doors)) for (let i = 0; i < 20; i++) await ask(++id) // warm up
  for (let round = 0; round < rounds; round++) {
    for (const [name, ask] of Object.entries(doors)) {
      const times: number[] = []
      for (let i = 0; i < calls; i++) {
        const one = ++id
        times.push(await timed(async () => { if (!(await ask(one)).includes(`call ${one}`)) throw new Error(`${name} answered another call`) }))
      }
      seen.get(name)?.push(median(times))
    }
    const ids = Array.from({ length: atOnce }, () => ++id)
    many.push(await timed(() => Promise.all(ids.map(async one => { if (!(await agent.ask({ ...call(one), id: one })).includes(`call ${one}`)) throw new Error('an answer of another call') }))))
    starts.empty.push(await timed(() => once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')))
    let started: Agent | undefined
    starts.mcp.push(await timed(async () => { await (started = new Agent(home)).ask(initialize) }))
    await started?.end()
  }
} finally {
  await agent.end()
  await server.stop()
  await home.remove()
}

const base = seen.get('POST /api/execute') ?? []
const rows = [...seen].map(([door, times]) => ({
  door,
  median_ms: rounded(median(times)),
  ratio: rounded(median(times.map((time, i) => time / (base[i] ?? Number.NaN)))),
  protocol_share: rounded(median(times.map((time, i) => 1 - (base[i] ?? Number.NaN) / time)))
}))
console.table(rows)
const together = { at_once: atOnce, calls_per_second: Math.round(atOnce / median(many) * 1000) }
const start = { empty_node_ms: Math.round(median(starts.empty)), to_initialized_ms: Math.round(median(starts.mcp)), ratio: rounded(median(starts.mcp.map((time, i) => time / (starts.empty[i] ?? Number.NaN)))) }
console.table([together])
console.table([start])
await save(values.json, 'mcp', { calls, rounds, rows, together, start })
