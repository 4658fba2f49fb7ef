import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { testServer } from '../support/mcp-servers.ts'
import { makeHome, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

t.setTimeout(200_000)
const home = await makeHome()
t.teardown(home.remove)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })

async function put (path: string, text: string): Promise<string> {
  const file = join(home.folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  return file
}

const manifestOf = (name: string): Promise<string> => readFile(join(home.skills, name, 'skill.toml'), 'utf8')

t.test('the servers of clients become skills; their secrets go into the secrets file and nowhere else', async t => {
  await put('.cursor/mcp.json', `{
    // with comments
    "mcpServers": {
      "GitHub (work)": {
        "command": "npx", "args": ["-y", "server"], "env": { "GITHUB_TOKEN": "ghp_secret1", "LOG": "debug" }
      },
      "skillet": { "command": "/usr/bin/node", "args": ["/opt/skillet/dist/program/main.js", "mcp"] },
    }
  }`)
  await put('.vscode/mcp.json', JSON.stringify({ servers: {
    remote: { type: 'http', url: 'https://example.com/mcp', headers: { Authorization: 'Bearer abc-secret2' } },
    asks: { command: 'server', args: ['--root', '${workspaceFolder}'], env: { API: '${input:api-key}' } },
    line: { command: 'server', args: ['--key', '${input:key}'] }
  } }))
  await put('.claude.json', JSON.stringify({ other: 1, mcpServers: { 'github-work': { command: 'other' } }, projects: {
    [home.folder]: { mcpServers: { '!!!': { command: 'x' }, off: { command: 'x', disabled: true } } }
  } }))
  t.match(await skillet(home, ['import', 'mcp']), { status: 2, stderr: /nobody can be asked.*--yes/ })
  await t.rejects(stat(join(home.skills, 'github-work')), 'nothing is added without an answer')

  const { status, stdout } = await skillet(home, ['import', 'mcp', '--yes'])
  t.equal(status, 0)
  t.match(stdout, /github-work: runs the command npx -y server, as you, and may reach the network/)
  t.match(stdout, /its secrets GITHUB_TOKEN go into the secrets file/)
  t.match(stdout, /needs a secret: skillet secret set asks API_KEY/)
  for (const [name, why] of [
    ['skillet', 'it is Skillet itself'], [
      'line', 'its command holds the value of key'
    ], ['!!!', 'its name has no letter'],
    ['off', 'it is disabled there'], ['github-work', 'there is another "github-work"']
  ]) t.match(stdout, `${name} is left out: ${why}`)
  t.notMatch(stdout, /secret[12]/)
  const github = await manifestOf('github-work')
  t.match(github, /GITHUB_TOKEN = "\{\{GITHUB_TOKEN\}\}"/)
  t.match(github, /LOG = "debug"/)
  t.notMatch(github + await manifestOf('remote'), /secret[12]/)
  t.match(await manifestOf('remote'), /Authorization = "\{\{AUTHORIZATION\}\}"/)
  t.ok((await manifestOf('asks')).includes(home.folder), 'the folder of the project is put in')
  t.match((await skillet(home, ['secret', 'list'])).stdout, /github-work GITHUB_TOKEN\nremote AUTHORIZATION/)
  const listed = JSON.parse((await skillet(home, ['list', '--json'])).stdout) as { skills: { name: string }[] }
  t.same(listed.skills.map(({ name }) => name), ['asks', 'github-work', 'remote'], 'each of them loads')
  t.match((await skillet(home, ['import', 'mcp', '--yes'])).stdout, /there is a skill "remote" already/, 'once only')
})

t.test('a file that is none is refused by name', async t => {
  const file = await put('broken.json', '{"mcpServers": {')
  t.match(
    await skillet(home, ['import', 'mcp', file]), {
      status: 2, stderr: /broken\.json can't be used: it is not JSON: line 1/
    }
  )
  t.match(await skillet(home, ['import', 'mcp', 'missing.json']), { status: 2, stderr: /missing\.json can't be used/ })
})

t.test('a server is added by its command, and runs', async t => {
  t.match(
    await skillet(home, ['add', 'mcp', 'own', '--env', 'MODE=plain', '--', process.execPath, testServer]), { status: 0 }
  )
  t.match(await skillet(home, ['add', 'mcp', 'own', '--', 'x']), { status: 2, stderr: /is there already/ })
  t.match(await skillet(home, ['add', 'mcp', 'Own', '--', 'x']), { status: 2, stderr: /can't be the name of a skill/ })
  t.match(
    await skillet(
      home, ['add', 'mcp', 'far', 'https://example.com/mcp', '--env', 'A=b']
    ), { status: 2, stderr: /not for a URL/ }
  )
  t.match(
    await skillet(
      home, ['add', 'mcp', 'far', 'https://example.com/mcp', '--header', 'X-Key: {{KEY}}', '--secret', 'KEY']
    ),
    { status: 0, stdout: /needs a secret: skillet secret set far KEY/ }
  )
  t.match(await manifestOf('far'), /X-Key = "\{\{KEY\}\}"/)
  const server = await startServer(home)
  t.teardown(() => server.kill())
  await until(async () => (await skillet(home, ['run', 'own:echo', 'text=hi'])).stdout === 'hi\n')
})
