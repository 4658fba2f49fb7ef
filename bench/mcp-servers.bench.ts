// What does a call of an MCP server's tool cost through us, and do many servers delay the start? A client calls a
// server over standard input and output, our executor calls another process of the same server, and POST /api/execute
// a third one, in turn. Then a server with one such skill, and one with twenty of fifteen tools each, start from the
// lists that they keep.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import plugin from '../plugins/executor-mcp/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { until } from '../plugins/testing/until.ts'
import { callOf, removeFolder, runMcp, serverSkill, testServer } from '../test/support/mcp-servers.ts'
import { execute, makeHome, request, startServer, type Home } from '../test/support/program.ts'
import { benchmark } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const parameters = { text: 'a text' }

export default benchmark({
  question: 'What does a call of an MCP server cost through us, and do twenty servers delay the start?',
  limit_s: 300,
  async run ({ quick }) {
    const homes = [await homeWith(1), await homeWith(20)] as const
    const client = new Client({ name: 'bench', version: '1' })
    const { service: executor, close } = await openPlugin(plugin)
    const server = await startServer(homes[0], ['--log-level', 'error', '--storage-durability', 'deferred'])
    try {
      await client.connect(new StdioClientTransport({ command: process.execPath, args: [testServer] }))
      const skill = serverSkill()
      const calls = (call: () => Promise<unknown>) => async (): Promise<number> => {
        const times: number[] = []
        for (let i = 0; i < (quick ? 50 : 500); i++) {
          const began = performance.now()
          if (!JSON.stringify(await call()).includes(parameters.text)) throw new Error('another answer')
          times.push(performance.now() - began)
        }
        return median(times)
      }
      const samples = await interleaved({
        direct: calls(() => client.callTool({ name: 'echo', arguments: parameters })),
        executor: calls(() => runMcp(executor, callOf(skill, 'echo', parameters))),
        http: calls(async () => (await execute(server.url, 'server-0', 'echo', parameters)).body)
      }, quick ? 3 : 11)
      await server.stop()
      const starts = await interleaved(
        { one: () => startOf(homes[0]), twenty: () => startOf(homes[1]) },
        quick ? 2 : 11
      )
      const against = 'a client over standard input and output'
      const row = (what: string, times: readonly number[]) => ({
        what, against, unit: '×' as const, values: ratios(times, samples.direct), goal: { at_most: 1.3 },
        details: { ms: median(times), peer_ms: median(samples.direct) }
      })
      return { rows: [
        row('a call through the executor', samples.executor),
        row('a call through POST /api/execute, deferred', samples.http),
        {
          what: 'first healthy answer with 20 servers of 17 tools', against: 'with one', unit: '×',
          values: ratios(starts.twenty, starts.one), goal: { at_most: 1.1 },
          details: { ms: median(starts.twenty), peer_ms: median(starts.one) }
        }
      ] }
    } finally {
      await Promise.all([client.close(), close(), server.stop()])
      await Promise.all([...homes.map(home => home.remove()), removeFolder()])
    }
  }
})

/** A home with MCP servers whose tools are known. */
async function homeWith (servers: number): Promise<Home> {
  const home = await makeHome()
  home.env['SKILLET_SKILLS_BUNDLED'] = 'false'
  for (let i = 0; i < servers; i++) {
    const folder = join(home.skills, `server-${i}`)
    await mkdir(folder, { recursive: true })
    const command = JSON.stringify([process.execPath, testServer])
    await writeFile(join(folder, 'skill.toml'), `runtime = "mcp"\n[mcp]\ncommand = ${command}\n`)
  }
  const server = await startServer(home, ['--log-level', 'error'])
  await until(async () => {
    const { skills } = (await request(server.url, '/api/skills')).body as unknown as { skills: { tools: unknown[] }[] }
    return skills.length === servers && skills.every(({ tools }) => tools.length > 0)
  })
  await server.stop()
  return home
}

/** A server, from its start to its first healthy answer. @returns milliseconds */
async function startOf (home: Home): Promise<number> {
  const began = performance.now()
  const server = await startServer(home, ['--log-level', 'error'])
  try {
    const { status } = (await request(server.url, '/api/health')).body
    if (status !== 'healthy') throw new Error(`health is ${String(status)}`)
    return performance.now() - began
  } finally {
    await server.stop()
  }
}
