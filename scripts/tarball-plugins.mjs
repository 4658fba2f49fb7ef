// The part of scripts/tarball.mjs that checks plugins that the installed package makes with `init --plugin`.
import { spawn, spawnSync } from 'node:child_process'
import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const slots = ['transport', 'storage', 'executor', 'skills']

/**
 * Checks plugins as another author would make them, each in its own folder: their test suites pass, and a server runs
 * with all of them. `scripts/package.mjs` checks the types of a plugin.
 * @param installed the programs `node` and `npm`; the folder `home`; the `options` of every process; and `skillet`,
 *   which runs a command of the installed package and returns what it prints
 * @throws AssertionError when a check fails
 */
export async function checkPlugins (tarball, installed) {
  const { home } = installed
  const parent = join(home, 'plugins')
  const files = slots.map(slot => testPlugin(slot, parent, installed))
  // The server must also run when npm has installed a copy of Skillet next to a plugin, as it does for a dependency.
  copyBeside(join(parent, 'my-transport'), tarball, installed)
  const folder = join(home, 'packages')
  mkdirSync(join(folder, 'one'), { recursive: true })
  writeFileSync(
    join(folder, 'one/package.json'),
    '{ "description": "A package", "scripts": { "hello": "echo hello" } }'
  )
  const port = await freePort()
  writeFileSync(join(home, 'skillet.toml'), [
    `plugins = ${JSON.stringify(files)}`,
    '[plugin.my-skills]', `folder = ${JSON.stringify(folder)}`,
    '[plugin.my-transport]', `port = ${port}`, ''
  ].join('\n'))
  await servePlugins(port, installed.options)
  rmSync(join(home, 'skillet.toml'))
}

/** Writes a plugin for a slot and runs its tests. @returns the path of the plugin's file */
function testPlugin (slot, parent, { node, options, skillet }) {
  const written = JSON.parse(skillet('init', '--plugin', slot, `my-${slot}`, '--directory', parent, '--json'))
  const tested = spawnSync(node, ['--test', '--test-reporter=tap'], { ...options, cwd: written.folder })
  assert.equal(tested.status, 0, tested.stdout)
  console.log(`  the plugin ${written.name}: ${/# tests (\d+)/.exec(tested.stdout)[1]} tests of its slot pass`)
  return written.plugin
}

/** Installs the package into the folder of a plugin. */
function copyBeside (plugin, tarball, { node, npm, options }) {
  const install = spawnSync(
    node,
    [npm, 'install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', tarball],
    { ...options, cwd: plugin, timeout: 600_000 }
  )
  assert.equal(install.status, 0, install.stderr)
  assert.ok(!lstatSync(join(plugin, 'node_modules/skillet')).isSymbolicLink(), 'it is a copy')
}

/** Starts a server with the plugins in its settings, and calls operations over the plugin's transport, on a port. */
async function servePlugins (port, options) {
  const child =
    spawn('skillet', ['serve', '--port', '0', '--json'], { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  process.prependListener('exit', () => { child.kill('SIGKILL') }) // before its folder is removed
  const [first] = await once(child.stdout.setEncoding('utf8'), 'data')
  const health = await (await fetch(`${JSON.parse(first).url}/api/health`)).json()
  for (const slot of slots) {
    assert.ok(
      health.plugins.some(({ name, state }) => name === `my-${slot}` && state === 'ready'),
      JSON.stringify(health)
    )
  }
  const socket = connect(port, '127.0.0.1')
  const replies = createInterface({ input: socket })[Symbol.asyncIterator]()
  const call = async (operation, input) => {
    socket.write(`${JSON.stringify({ operation, input })}\n`)
    return JSON.parse((await replies.next()).value)
  }
  assert.equal((await call('get_skill', { name: 'one' })).output.description, 'A package')
  assert.equal(
    (await call('execute', { skill_name: 'text', tool_name: 'count', parameters: { text: 'one two' } })).output.status,
    'success'
  )
  assert.equal(
    (await call('execute', { skill_name: 'nobody', tool_name: 'x', parameters: {} })).error.code,
    'SKILL_NOT_FOUND'
  )
  assert.equal((await call('list_executions', {})).output.total, 1)
  socket.destroy()
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
}

async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  await new Promise(done => { server.close(done) })
  return port
}
