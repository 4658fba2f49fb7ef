import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { SLOTS } from '../../kernel/index.ts'
import { request, makeHome, node, skillet, startServer } from '../support/program.ts'

const run = promisify(execFile)
const page = await readFile(new URL('../../../docs/plugins.md', import.meta.url), 'utf8')
const home = await makeHome()
t.teardown(home.remove)
const folder = join(home.folder, 'plugins')
const nameOf = (slot: string): string => `stranger-${slot}`

for (const slot of SLOTS) {
  t.test(`init --plugin ${slot} writes the example of docs/plugins.md, and its suite passes`, async t => {
    const { status, stdout, stderr } =
      await skillet(home, ['init', '--plugin', slot, nameOf(slot), '--directory', folder, '--json'])
    t.equal(status, 0, stderr)
    const written = JSON.parse(stdout) as { folder: string, plugin: string, test: string }
    t.match(written, { slot, name: nameOf(slot), folder: join(folder, nameOf(slot)) })
    for (const file of ['index.js', 'index.test.js']) {
      const [, example] =
        new RegExp(`<!-- file ${slot}/${file.replaceAll('.', '\\.')} -->\\n\`\`\`js\\n([^]*?)^\`\`\`$`, 'm').exec(page)
        ?? []
      t.equal(await readFile(join(written.folder, file), 'utf8'), example?.replaceAll(`my-${slot}`, nameOf(slot)), file)
    }
    const result = await run(node, ['--test', '--test-reporter=tap'], {
      cwd: written.folder, env: home.env, maxBuffer: 2 ** 24
    }).catch((error: unknown) => error as { stdout: string })
    t.match(result.stdout, /^# pass ([5-9]|\d\d)$/m, 'the suite ran')
    t.match(
      result.stdout, /^# fail 0$/m, result.stdout.split('\n').filter(line => /not ok|error:/.test(line)).join('\n')
    )
  })
}

t.test('a transport needs no more than 40 lines', async t => {
  t.ok((await readFile(join(folder, nameOf('transport'), 'index.js'), 'utf8')).trimEnd().split('\n').length <= 40)
})

t.test('what can not be written is refused', async t => {
  t.match(await skillet(home, ['init', '--plugin', 'storage', nameOf('storage'), '--directory', folder]), {
    status: 2,
    stderr: /is there already/
  })
  t.match(await skillet(home, ['init', '--plugin', 'shop', 'mine']), {
    status: 2,
    stderr: /shop.*storage, search, executor, skills, endpoint, transport/
  })
  t.match(await skillet(home, ['init', '--plugin', 'search', '-'.repeat(3)]), { status: 2 })
  t.match(await skillet(home, ['init', '--plugin', 'search', 'No_Name']), {
    status: 2,
    stderr: /can't be the name of a plugin/
  })
  t.match(await skillet(home, ['init', '--plugin', 'search', '--native', 'mine']), {
    status: 2,
    stderr: /cannot be used with/
  })
})

t.test('a server runs with a plugin of somebody else in every slot', async t => {
  const scripts = join(home.folder, 'packages')
  await mkdir(join(scripts, 'greetings'), { recursive: true })
  await writeFile(join(scripts, 'greetings', 'package.json'), '{ "scripts": { "hello": "echo hello from a script" } }')
  const config = join(home.folder, 'plugins.toml')
  const paths = SLOTS.map(slot => join(folder, nameOf(slot), 'index.js'))
  const port = await freePort()
  await writeFile(config, `plugins = ${JSON.stringify(paths)}\n[plugin.${nameOf('skills')}]\nfolder = ${JSON.stringify(scripts)}\n[plugin.${nameOf('transport')}]\nport = ${port}\n`)
  const checked = await skillet(home, ['config', 'check', '--config', config])
  t.equal(checked.status, 0, checked.stdout + checked.stderr)
  const server = await startServer(home, ['--config', config, '--no-bundled-skills'])
  t.teardown(() => server.kill())
  const { body: health } = await request(server.url, '/api/health')
  const plugins = health['plugins'] as { name: string, state: string }[]
  t.same(plugins.filter(({ state }) => state !== 'ready'), [])
  for (const slot of SLOTS) t.ok(plugins.some(({ name }) => name === nameOf(slot)), slot)
  t.notOk(
    plugins.some(({ name }) => name === 'storage-lmdb' || name === 'search-hnsw'),
    'storage and search take the place of ours'
  )

  t.equal(await (await fetch(`${server.url}/${nameOf('endpoint')}`)).text(), 'greetings: The scripts of greetings\n')
  const asked = { skill_name: 'greetings', tool_name: 'hello', parameters: {} }
  t.match((await request(server.url, '/api/search', { query: 'hello' })).body, {
    mode: nameOf('search'),
    results: [{ skill_name: 'greetings', tool_name: 'hello' }]
  })
  const answer = await fetch(
    `${server.url}/${nameOf('endpoint')}`,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asked) }
  )
  t.equal(await answer.text(), 'hello from a script\n', 'a skill of its source, run through its endpoint')

  const socket = connect(port, '127.0.0.1')
  socket.write(`${JSON.stringify({ operation: 'execute', input: { ...asked, skill_name: 'nobody' } })}\n`)
  const [reply] = await once(socket.setEncoding('utf8'), 'data') as [string]
  t.match(
    JSON.parse(reply),
    { error: { code: 'SKILL_NOT_FOUND' }, success: false },
    'an error of the kernel that runs, and not of a copy'
  )
  socket.destroy()
  t.match(
    (await request(server.url, '/api/executions')).body,
    { total: 1, executions: [{ skill_name: 'greetings' }] },
    'its storage keeps the history'
  )
  t.equal(await server.stop(), 0)
})

t.test('a lone file, and a folder, are plugins without an installation', async t => {
  const plugins = join(home.folder, 'lone')
  await mkdir(join(plugins, 'bell'), { recursive: true })
  const text = (name: string): string => `import { definePlugin, Scope } from 'skillet/plugin'
export default definePlugin({
  name: '${name}',
  slot: 'transport',
  setup ({ scope }) {
    if (!(scope instanceof Scope)) throw new Error('this is not the Skillet that runs')
    return { url: 'x:${name}' }
  }
})
`
  await writeFile(join(plugins, 'clock.mjs'), text('clock'))
  await writeFile(join(plugins, 'bell', 'package.json'), '{ "type": "module", "exports": "./bell.js" }')
  await writeFile(join(plugins, 'bell', 'bell.js'), text('bell'))
  const config = join(plugins, 'skillet.toml')
  await writeFile(config, 'plugins = ["./clock.mjs", "./bell"]\n')
  const { stdout } = await skillet(home, ['doctor', '--json', '--config', config, '--no-bundled-skills'])
  const { findings } = JSON.parse(stdout) as { findings: { about: string, level: string }[] }
  t.same(findings.filter(({ about, level }) => about === 'plugins' || (about === 'start' && level === 'problem')), [])
  const server = await startServer(home, ['--config', config, '--no-bundled-skills'])
  t.teardown(() => server.kill())
  const { body: health } = await request(server.url, '/api/health')
  const states = health['plugins'] as { name: string, state: string }[]
  t.match(states.filter(({ name }) => ['clock', 'bell'].includes(name)), [{ state: 'ready' }, { state: 'ready' }])
  t.equal(await server.stop(), 0)
})

t.test('plugins that require Skillet, and that import it, are loaded together', async t => {
  const plugins = join(home.folder, 'both')
  await mkdir(join(plugins, 'node_modules'), { recursive: true })
  const checkout = fileURLToPath(new URL('../../..', import.meta.url))
  await symlink(checkout, join(plugins, 'node_modules', 'skillet'), 'junction')
  const made = (name: string): string => `definePlugin({ name: '${name}', slot: 'transport', setup: () => ({}) })\n`
  const imports = `import { definePlugin } from 'skillet/plugin'\nexport default ${made('one')}`
  await writeFile(join(plugins, 'one.mjs'), imports)
  const requires = `const { definePlugin } = require('skillet/plugin')\nmodule.exports = ${made('two')}`
  await writeFile(join(plugins, 'two.cjs'), requires)
  const config = join(plugins, 'skillet.toml')
  await writeFile(config, 'plugins = ["./one.mjs", "./two.cjs"]\n')
  const { stdout } = await skillet(home, ['doctor', '--json', '--config', config, '--no-bundled-skills'])
  const { findings } = JSON.parse(stdout) as { findings: { about: string }[] }
  t.same(findings.filter(({ about }) => about === 'plugins'), [])
})

async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens at a port
  await new Promise(resolve => server.close(resolve))
  return port
}
