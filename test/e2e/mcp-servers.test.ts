import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { SkillDefinition } from '../../kernel/index.ts'
import { until } from '../../plugins/testing/until.ts'
import { callTool, connect, textOf } from '../support/mcp.ts'
import { callOf, openMcp, removeFolder, runMcp, serverSkill, testServer } from '../support/mcp-servers.ts'
import { execute, makeHome, node, program, request, skillet, startServer } from '../support/program.ts'
import { gone } from '../support/processes.ts'

t.setTimeout(280_000)
const home = await makeHome()
t.teardown(home.remove)
t.teardown(removeFolder)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })

async function put (name: string, command: readonly string[], more = ''): Promise<void> {
  await mkdir(join(home.skills, name), { recursive: true })
  await writeFile(
    join(home.skills, name, 'skill.toml'),
    `runtime = "mcp"\ndescription = "Tools of ${name}"\n${more}\n[mcp]\ncommand = ${JSON.stringify(command)}\n`
  )
}

const packages = fileURLToPath(new URL('../../../node_modules/@modelcontextprotocol/', import.meta.url))

/** The command of a server from npm, which is installed for these tests. */
async function npm (name: string, ...args: string[]): Promise<string[]> {
  const manifest = JSON.parse(
    await readFile(join(packages, name, 'package.json'), 'utf8')
  ) as { bin: Record<string, string> }
  return [process.execPath, join(packages, name, Object.values(manifest.bin)[0] ?? ''), ...args]
}

interface Listed { skills: { name: string, runtime: string, tools: { name: string }[] }[] }
interface Result { status: string, output: string }

t.test('real servers from npm list their tools and run them, through every door', async t => {
  const files = join(home.folder, 'files')
  await mkdir(files)
  await writeFile(join(files, 'note.txt'), 'what is in it')
  await put('everything', await npm('server-everything'))
  await put('filesystem', await npm('server-filesystem', files))
  await put('memory', await npm('server-memory'))
  await put('thinking', await npm('server-sequential-thinking'))
  await put('broken', ['there-is-no-such-server'])
  await put('own', [process.execPath, testServer])
  const server = await startServer(home)
  t.teardown(() => server.kill())

  const toolsOf = async (name: string): Promise<string[]> => {
    const { skills } = (await request(server.url, '/api/skills')).body as unknown as Listed
    return skills.find(skill => skill.name === name)?.tools.map(tool => tool.name) ?? []
  }
  for (const name of ['everything', 'filesystem', 'memory', 'thinking', 'own']) {
    await until(async () => (await toolsOf(name)).length > 0)
  }
  t.ok((await toolsOf('filesystem')).includes('read_text_file'))
  const run = async (skill: string, tool: string, parameters: object): Promise<Result> =>
    (await execute(server.url, skill, tool, parameters)).body as unknown as Result
  t.match(
    await run(
      'filesystem', 'read_text_file', { path: join(files, 'note.txt') }
    ), { status: 'success', output: /what is in it/ }
  )
  t.match(await run('everything', 'echo', { message: 'hello' }), { status: 'success', output: /hello/ })
  t.match(await run('everything', 'get-sum', { a: 2, b: 3 }), { status: 'success', output: /5/ })
  const image = await run('everything', 'get-tiny-image', {})
  t.match(image, { status: 'success' })
  t.ok((JSON.parse(image.output) as { content: { type: string }[] }).content.some(({ type }) => type === 'image'))
  await run(
    'memory', 'create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['counts'] }] }
  )
  t.match(await run('memory', 'read_graph', {}), { status: 'success', output: /Ada/ }, 'one process keeps its state')
  t.match(await run('thinking', 'sequentialthinking', {
    thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1
  }), { status: 'success' })
  t.match((await request(server.url, '/api/health')).body, {
    status: 'healthy', warnings: [{ name: 'broken', warning: /the program there-is-no-such-server was not found/ }]
  }, 'a broken server is named, and all is well otherwise')
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)

  const pid = Number((await run('own', 'pid', {})).output)
  const child = Number((await run('own', 'child', {})).output)
  await server.stop()
  await gone([pid, child])

  const listed = JSON.parse((await skillet(home, ['list', '--json'])).stdout) as Listed
  t.ok(
    listed.skills.find(
      ({ name }) => name === 'everything'
    )?.tools.some(({ name }) => name === 'echo'), 'listed while it is down'
  )
  t.match(await skillet(home, ['run', 'own:echo', 'text=by command']), { status: 0, stdout: 'by command\n' })
  const doctor = await skillet(home, ['doctor'])
  t.match(doctor.stdout, /MCP server own.*17 of its tools serve \(test 1\.2\.3\)/)
  t.match(doctor.stdout, /MCP server broken.*there-is-no-such-server was not found/)
})

t.test('an agent reaches the tools of a server through `skillet mcp`', async t => {
  const { client } = await connect(new StdioClientTransport({
    command: node, args: [program, 'mcp'], env: home.env as Record<string, string>, cwd: home.folder, stderr: 'ignore'
  }) as Transport)
  t.teardown(() => client.close())
  const result = textOf(await callTool(client, 'execute', {
    skill_name: 'own', tool_name: 'echo', parameters: { text: 'by an agent' }
  }))
  t.match(JSON.parse(result), { status: 'success', output: 'by an agent' })
})

t.test('servers elsewhere: by Streamable HTTP, by the older transport, and by the newest protocol', async t => {
  const start = async (kind: string): Promise<string> => {
    const port = await freePort()
    const [command = '', ...args] = await npm('server-everything', kind)
    const child = spawn(
      command, args, { env: { ...home.env, PORT: String(port) }, stdio: 'ignore' }
    )
    t.teardown(() => { child.kill('SIGKILL') })
    await until(() => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false))
    return `http://127.0.0.1:${port}`
  }
  const { executor } = await openMcp(t)
  const remote = (url: string, headers: Record<string, string> = {}): SkillDefinition => {
    const skill = serverSkill({}, { url, headers })
    const { command: _, ...target } = skill.target ?? {}
    return { ...skill, target }
  }
  const everything = remote(`${await start('streamableHttp')}/mcp`)
  t.match(await runMcp(executor, callOf(everything, 'echo', { message: 'far' })), { status: 'success', output: /far/ })
  const older = remote(`${await start('sse')}/sse`)
  t.match(await runMcp(executor, callOf(older, 'echo', { message: 'old' })), { status: 'success', output: /old/ })

  const skillet = await startServer(home, ['--auth-required'], { env: { SERVICE_API_KEY: 'k'.repeat(40) } })
  t.teardown(() => skillet.kill())
  const call = { skill_name: 'own', tool_name: 'echo', parameters: { text: 'through two' } }
  const modern = remote(`${skillet.url}/mcp`, { Authorization: 'Bearer {{KEY}}' })
  t.match(
    await runMcp(executor, callOf(modern, 'execute', call), { secrets: { KEY: 'k'.repeat(40) } }),
    { status: 'success', output: /through two/ }
  )
  const list = JSON.parse(await readFile(String(modern.target?.['list_file']), 'utf8')) as { listed: { era: string } }
  t.equal(list.listed.era, 'modern')
  const refused = remote(`${skillet.url}/mcp`, { Authorization: 'Bearer wrong' })
  t.match(await runMcp(executor, callOf(refused, 'execute', call)), {
    status: 'failed', error: { message: /answers 401: log in \(skillet login [^)]+\), or give credentials in headers of \[mcp\]/ }
  })
  const nowhere = remote(`http://127.0.0.1:${await freePort()}/mcp`)
  t.match(
    await runMcp(executor, callOf(nowhere, 'echo')), { status: 'failed', error: { message: /nothing listens at/ } }
  )
})

async function freePort (): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  await new Promise(resolve => { server.close(resolve) })
  return typeof address === 'object' && address !== null ? address.port : 0
}

t.test('a server ends with Skillet, even when that is killed', async t => {
  const server = await startServer(home)
  t.teardown(() => server.kill())
  const pid = Number(((await execute(server.url, 'own', 'pid', {})).body as unknown as Result).output)
  await server.kill()
  await gone([pid])
})
