import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t from 'tap'
import { callTool, connect, execute as executeOver, textOf } from '../support/mcp.ts'
import { execute, makeHome, request, skillet, startServer, type Answer } from '../support/program.ts'

t.setTimeout(280_000)

/** Keeps what it sees in the module, so that a module that serves two instances gives itself away. */
const script = `
const seen = new Set()
export default {
  description: 'Speaks to a forge', permissions: { secrets: ['TOKEN'] },
  tools: {
    who: { description: 'Tell whose account of the forge this is', parameters: { way: { type: 'string', description: 'How' } },
      run: ({ way }, { config, secrets }) => { seen.add(config.org + secrets.TOKEN.length); return JSON.stringify({ org: config.org, seen: [...seen], way }) } },
    show: { description: 'Show the token', run: (_, { secrets }) => secrets.TOKEN + ' ' + JSON.stringify(Object.keys(secrets)) }
  }
}`
const plain = `let seen = []
export default { description: 'Keeps things', tools: { keep: { description: 'Keep', run: (_, { config }) => { seen.push(config.org); return seen.join() } } } }`
const command = 'description = "A forge by command"\n[permissions]\nsecrets = ["TOKEN"]\n[[tools]]\nname = "length"\n' +
  'description = "Length of the token"\ncommand = ["sh", "-c", "printf %s \\"$TOKEN\\" | wc -c; env"]\n'

const home = await makeHome()
t.teardown(home.remove)
for (const [folder, file, text] of [
  ['forge', 'skill.js', script], ['keeper', 'skill.js', plain], ['shell-forge', 'skill.toml', command]
] as const) {
  await mkdir(join(home.skills, folder), { recursive: true })
  await writeFile(join(home.skills, folder, file), text)
}
const both = (skill: string): string =>
  `[skills.instances.${skill}.work]\ndescription = "The company"\nconfig = { org = "acme" }\n[skills.instances.${skill}.home.config]\norg = "me"\n`
const config = `[mcp]
expose = ["forge:who", "keeper@work"]
${['forge', 'keeper', 'shell-forge'].map(both).join('')}`
await writeFile(join(home.folder, 'skillet.toml'), config)
const random = (): string => randomBytes(12).toString('hex')
const tokens = { work: `work-${random()}`, home: `home-secret-${random()}` }
for (const skill of ['forge', 'shell-forge']) {
  for (const [instance, token] of Object.entries(tokens)) {
    await skillet(home, ['secret', 'set', `${skill}@${instance}`, 'TOKEN'], { input: token })
  }
}
await skillet(home, ['secret', 'set', 'forge', 'TOKEN'], { input: 'the-plain-token' })
const key = /sk_[\w-]+/.exec((await skillet(home, ['key', 'create', 'k', '--skill', 'forge@work:*'])).stdout)?.[0] ?? ''
const server = await startServer(home, ['--execution-threads', '1'], { env: { TOKEN: 'the-token-of-the-server' } })
t.teardown(server.kill)

const outputOf = ({ body }: Answer): string => String(body['output'] ?? JSON.stringify(body))

t.test('code of one instance never runs for another, one after the other and at once', async t => {
  for (const [org, name] of [['acme', 'work'], ['me', 'home'], ['acme', 'work'], ['me', 'home']] as const) {
    const length = tokens[name].length
    t.same(JSON.parse(outputOf(await execute(server.url, `forge@${name}`, 'who'))), { org, seen: [`${org}${length}`] })
  }
  const names = Array.from({ length: 60 }, (_, i) => i % 2 === 0 ? 'work' : 'home')
  const kept = await Promise.all(names.map(name => execute(server.url, `keeper@${name}`, 'keep')))
  for (const [i, answer] of kept.entries()) {
    t.equal(new Set(outputOf(answer).split(',')).size, 1, outputOf(answer))
    t.match(outputOf(answer), names[i] === 'work' ? /^acme/ : /^me/)
  }
})

t.test('an instance has its own secrets, and none of its skill or of the server; its runs are redacted', async t => {
  for (const [name, token] of Object.entries(tokens)) {
    t.equal(outputOf(await execute(server.url, `forge@${name}`, 'show')), '[secret] ["TOKEN"]')
    const output = outputOf(await execute(server.url, `shell-forge@${name}`, 'length'))
    t.match(output, new RegExp(`^\\s*${token.length}\\n`))
    t.notMatch(output, /the-token-of-the-server/)
  }
  await skillet(home, ['secret', 'remove', 'shell-forge@home', 'TOKEN'])
  t.match(await execute(server.url, 'shell-forge@home', 'length'), {
    status: 422, body: { error: { message: /skillet secret set shell-forge@home TOKEN/ } }
  })
  const data = join(home.env['XDG_DATA_HOME'] ?? '', 'skillet')
  for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const bytes = await readFile(join(entry.parentPath, entry.name))
    for (const token of Object.values(tokens)) t.notOk(bytes.includes(token.slice(5, 20)), entry.name)
  }
})

t.test('over HTTP: lists, one skill, the history, and a key of one instance', async t => {
  const { body } = await request(server.url, '/api/skills/forge')
  t.match(body, { instances: [{ name: 'forge@home' }, { name: 'forge@work', description: 'The company' }] })
  t.match(await request(server.url, '/api/skills/forge@work'), { status: 200, body: { name: 'forge@work' } })
  const several = { status: 400, body: { error: { message: /forge@home, forge@work/ } } }
  t.match(await execute(server.url, 'forge', 'who'), several)
  t.match(await execute(server.url, 'forge@none', 'who'), { status: 404, body: { error: { code: 'SKILL_NOT_FOUND' } } })
  const listed = await request(server.url, '/api/executions?skill_name=forge%40work')
  t.ok((listed.body['executions'] as { skill_name: string }[]).every(({ skill_name }) => skill_name === 'forge@work'))
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const ask = (skill_name: string): Promise<Answer> =>
    request(server.url, '/api/execute', { skill_name, tool_name: 'who', parameters: {} }, { headers })
  t.match(await ask('forge@work'), { status: 200 })
  t.match(await ask('forge@home'), { status: 403 })
  t.match(await request(server.url, '/api/skills', undefined, { headers }), { body: { total: 1 } })
})

t.test('over MCP: an agent reads each description once', async t => {
  const { client } = await connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)))
  t.teardown(() => client.close())
  const { tools } = await client.listTools()
  const shown = new Map(tools.map(tool => [tool.name, tool]))
  t.same([...shown.keys()].sort(),
    ['execute', 'forge_who', 'keeper_work_keep', 'list_skills', 'query', 'search_skills'])
  t.match(shown.get('forge_who')?.inputSchema, {
    properties: { instance: { enum: ['home', 'work'] } }, required: ['instance']
  })
  const direct = textOf(await callTool(client, 'forge_who', { instance: 'work', way: 'direct' }))
  t.match(JSON.parse(direct), { org: 'acme', way: 'direct' })
  t.match(textOf(await callTool(client, 'forge_who', {})), /forge@home, forge@work/)
  t.match(textOf(await callTool(client, 'keeper_work_keep', {})), /^acme/)
  const found = await callTool(client, 'search_skills', { query: 'whose account of the forge' })
  const results = found.structuredContent?.['results'] as { tool_name: string, instances?: string[] }[]
  const who = results.filter(({ tool_name }) => tool_name === 'who')
  t.same(who.map(({ instances }) => instances), [['forge@home', 'forge@work']])
  t.match(textOf(await executeOver(client, 'forge@work', 'who')), /acme/)
  t.match(textOf(await callTool(client, 'execute', { tool_name: 'forge@work:who' })), /acme/, 'both names in one field')
})

t.test('at the terminal', async t => {
  const run = async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await skillet(home, args)
    return stdout + stderr
  }
  t.match(await run('run', 'forge@work:who'), /acme/)
  t.match(await run('run', 'forge:who'), /name one of them.*forge@home, forge@work/)
  t.match(await run('list'), /instances +forge@home, forge@work/)
  t.match(await run('info', 'forge'), /forge@work +instance +The company/)
  t.match(await run('history', '--skill', 'forge@work', '--limit', '1'), /forge@work:who/)
  t.match(await run('secret', 'list', 'forge@work'), /^forge@work TOKEN\n$/)
  t.match(await run('secret', 'set', 'forge@Work', 'TOKEN'), /SKILL@INSTANCE/)
  t.match(await run('trust', 'forge@work', '--yes'), /skillet trust forge/)
  await writeFile(join(home.folder, 'skillet.toml'), `${config}[skills.instances.nobody.x]\ndefault = true\n`)
  t.match(await run('doctor'), /skills\.instances\.nobody.*no skill/s)
})

t.test('confined scripts of two instances share no process', async t => {
  await writeFile(join(home.folder, 'skillet.toml'), config)
  const confined = await startServer(home, ['--isolation-mode', 'auto', '--data-dir', join(home.folder, 'other-data')])
  t.teardown(confined.kill)
  const answers = await Promise.all(['work', 'home', 'work', 'home', 'work', 'home'].map(name =>
    execute(confined.url, `keeper@${name}`, 'keep')))
  for (const answer of answers) t.equal(new Set(outputOf(answer).split(',')).size, 1, outputOf(answer))
})
