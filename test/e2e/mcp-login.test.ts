import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { execute, launch, launcher, makeHome, request, skillet, startServer } from '../support/program.ts'

t.setTimeout(200_000)
const home = await makeHome()
t.teardown(home.remove)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })

const fixture = fileURLToPath(new URL('../fixtures/mcp-servers/oauth.mjs', import.meta.url))
const elsewhere = spawn(process.execPath, [fixture], { stdio: ['ignore', 'pipe', 'inherit'] })
t.teardown(() => { elsewhere.kill() })
let wrote = ''
elsewhere.stdout.setEncoding('utf8').on('data', (text: string) => { wrote += text })
await until(async () => wrote.includes('\n'))
const base = `http://127.0.0.1:${wrote.trim()}`
await mkdir(join(home.skills, 'far'), { recursive: true })
await writeFile(
  join(home.skills, 'far', 'skill.toml'), `runtime = "mcp"\ndescription = "Far away"\n[mcp]\nurl = "${base}/mcp"\n`
)

/** Logs in, as a user whose browser follows the redirect. @returns what the command wrote to standard error */
async function logIn (): Promise<string> {
  const child = spawn(launcher, [...launch, 'login', 'far'], { cwd: home.folder, env: home.env, stdio: ['ignore',
    'pipe', 'pipe'] })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (more: string) => { text += more })
  child.stdout.setEncoding('utf8').on('data', (more: string) => { text += more })
  const closed = once(child, 'close')
  await until(async () => /http:\S+authorize\S+/.test(text) || child.exitCode !== null)
  const page = new URL(/http:\S+authorize\S+/.exec(text)?.[0] ?? `failed: ${text}`)
  const back = page.searchParams.get('redirect_uri') ?? ''
  t.equal((await fetch(`${back}?code=stolen&state=guessed`)).status, 404, 'an answer to another login does not count')
  t.equal((await fetch(page)).status, 200)
  await closed
  t.equal(child.exitCode, 0, text)
  return text
}

t.test('a server that wants a login says so, works after it, and its tokens are renewed', async t => {
  const server = await startServer(home, ['--log-level', 'debug'])
  t.teardown(() => server.kill())
  await until(async () => /skillet login far/.test(JSON.stringify((await request(server.url, '/api/health')).body)))
  t.match(await logIn(), /logged in at http:\/\/127\.0\.0\.1/)
  await server.stop()

  const again = await startServer(home, ['--log-level', 'debug'])
  t.teardown(() => again.kill())
  await until(async () => JSON.stringify((await request(again.url, '/api/skills')).body).includes('echo'))
  const echo = async (text: string): Promise<unknown> => (await execute(again.url, 'far', 'echo', { text })).body
  t.match(await echo('hello'), { status: 'success', output: 'hello' })
  const secrets = await readFile(join(home.folder, 'config', 'skillet', 'secrets.json'), 'utf8')
  const before = tokensIn(secrets)
  await fetch(`${base}/expire`)
  t.match(await echo('renewed'), { status: 'success', output: 'renewed' })
  const after = tokensIn(await readFile(join(home.folder, 'config', 'skillet', 'secrets.json'), 'utf8'))
  t.notSame(after, before, 'the new tokens are kept')
  await fetch(`${base}/revoke`)
  t.match(await echo('refused'), { error: { message: /skillet login far/ } })
  await again.stop()
  t.notMatch(wrote, /another verifier|another resource/)
  for (const token of [...before, ...after]) t.notOk(await isIn(home.folder, token),
    'no token is outside the secrets file')
})

t.test('only a skill of a server elsewhere has a login', async t => {
  const { status, stderr } = await skillet(home, ['login', 'nobody'])
  t.not(status, 0)
  t.match(stderr, /no skill of an MCP server elsewhere/)
})

function tokensIn (secrets: string): string[] {
  const { far } = JSON.parse(secrets) as { far: { MCP_OAUTH: string } }
  const { tokens } = JSON.parse(far.MCP_OAUTH) as { tokens: { access_token: string, refresh_token: string } }
  return [tokens.access_token, tokens.refresh_token]
}

/** Whether a text is in a file below a folder, the secrets file left out. */
async function isIn (folder: string, text: string): Promise<boolean> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'secrets.json') continue
    if ((await readFile(join(entry.parentPath, entry.name))).includes(text)) return true
  }
  return false
}
