// What does MCP add to running a tool, over standard input and over HTTP, and how fast does `skillet mcp` start?
// One server and one `skillet mcp`; the same trivial tool is called one by one through each door in turn, by clients
// that do nothing but the protocol, against POST /api/execute. Then fifty at once over standard input: each answer must
// be that of its call.
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { RawAgent } from '../test/support/mcp.ts'
import { benchmark, type Row } from './lib/benchmark.ts'
import { trivial, withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const atOnce = 50
const initialize = {
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
}
const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'execute' }
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {}
}

const jobOf = (id: number): object => ({ ...trivial, parameters: { text: `call ${id}.` } })
const callOf = (id: number, meta?: object): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'execute', arguments: jobOf(id), ...(meta !== undefined && { _meta: meta }) }
})

export default benchmark({
  question: 'What does MCP add to POST /api/execute, and how long does `skillet mcp` take to answer first?',
  limit_s: 240,
  run: ({ quick }) => withServers(async servers => {
    const flags = ['--storage-durability', 'deferred']
    const { home, url } = await servers.skillet(flags)
    const agent = new RawAgent(home, flags)
    servers.scope.defer(async () => {
      agent.child.stdin?.end()
      await agent.ended
    })
    agent.initialize()
    await answered(agent, 'init')
    const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> => {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
      })
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
      return response
    }
    const opened = await post('/mcp', initialize)
    await opened.text()
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }

    let last = 0
    const byDoor = (ask: (id: number) => Promise<string>) => async (): Promise<number> => {
      const times: number[] = []
      for (let i = 0; i < (quick ? 10 : 100); i++) {
        const id = ++last
        const began = performance.now()
        if (!(await ask(id)).includes(`call ${id}.`)) throw new Error('an answer of another call')
        times.push(performance.now() - began)
      }
      return median(times)
    }
    const overStdio = (id: number): Promise<string> => {
      agent.send(callOf(id))
      return answered(agent, id)
    }
    const samples = await interleaved({
      api: byDoor(async id => await (await post('/api/execute', jobOf(id))).text()),
      stdio: byDoor(overStdio),
      session: byDoor(async id => await (await post('/mcp', callOf(id), session)).text()),
      modern: byDoor(async id => await (await post('/mcp', callOf(id, envelope), modern)).text()),
      many: async () => {
        const began = performance.now()
        const ids = Array.from({ length: atOnce }, () => ++last)
        await Promise.all(ids.map(async id => {
          if (!(await overStdio(id)).includes(`call ${id}.`)) throw new Error('an answer of another call')
        }))
        return (performance.now() - began) / atOnce
      },
      empty: async () => {
        const began = performance.now()
        await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
        return performance.now() - began
      },
      start: async () => {
        const began = performance.now()
        const started = new RawAgent(home, flags)
        started.initialize()
        await answered(started, 'init')
        const took = performance.now() - began
        started.child.stdin?.end()
        await started.ended
        return took
      }
    }, quick ? 2 : 7)
    const row = (what: string, times: number[], against = 'POST /api/execute', peers = samples.api): Row => ({
      what, against, unit: '×', values: ratios(times, peers),
      details: {
        ms: median(times),
        peer_ms: median(peers),
        protocol_share: median(times.map((time, i) => 1 - (peers[i] ?? Number.NaN) / time))
      }
    })
    const start = row('skillet mcp to its first answer', samples.start, 'an empty Node process', samples.empty)
    delete start.details?.['protocol_share']
    return {
      rows: [
        row('a call by MCP on standard input', samples.stdio),
        row('a call by MCP over HTTP, in a session', samples.session),
        row('a call by MCP over HTTP, revision 2026-07-28', samples.modern),
        row(`a call by MCP on standard input, ${atOnce} at once`, samples.many), start
      ]
    }
  })
})

/** The line that answers a request; each line is looked at once. */
async function answered (agent: RawAgent, id: unknown): Promise<string> {
  const mark = `"id":${JSON.stringify(id)}}`
  for (;;) {
    const found = agent.lines.findIndex(line => line.endsWith(mark))
    if (found !== -1) return agent.lines.splice(found, 1)[0] ?? ''
    if (agent.child.stdout === null) throw new Error('it has no output')
    await once(agent.child.stdout, 'data')
    await new Promise(resolve => setImmediate(resolve))
  }
}
