// Checks the tarball of `npm pack`: `node scripts/tarball.mjs [NODE] [--native]` installs it with that Node, into an
// empty folder and home, without access to a compiler or to this folder. Then it runs `run`, `search`, `doctor`, `mcp`
// and `serve` as a user would, and tests plugins that `init --plugin` writes and serves with them.
// --native: sets the variable with which npm keeps onnxruntime-node; without it, Skillet must work without that
// package.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { checkPlugins } from './tarball-plugins.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const native = process.argv.includes('--native')
const node = resolve(process.argv.slice(2).find(word => !word.startsWith('--')) ?? process.execPath)
const patience_ms = 120_000
const question = 'what did we change in the past days'
const folder = mkdtempSync(join(tmpdir(), 'skillet-tarball-'))
process.on('exit', () => { rmSync(folder, { recursive: true, force: true }) })

const prefix = join(folder, 'prefix')
const bin = join(folder, 'bin')
const home = join(folder, 'home')
for (const path of [prefix, bin, home]) mkdirSync(path)
const npm = realpathSync(which('npm'))
for (const command of ['sh', 'env', 'git', 'sqlite3', 'wc', 'cat']) {
  symlinkSync(realpathSync(which(command)), join(bin, command))
}
symlinkSync(node, join(bin, 'node'))
/** The variables of this environment that are needed to reach the registry. */
const registry = Object.fromEntries(Object.entries(process.env).filter(([name]) =>
  /^(npm_config_(registry|cafile)|https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_(file|dir))$/i.test(name)))
// The cache of npm is shared, so that packages are downloaded once for all versions of Node.
const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
const env = {
  ...registry,
  PATH: `${join(prefix, 'bin')}${delimiter}${bin}`,
  HOME: home,
  LANG: 'C.UTF-8',
  npm_config_cache: cache,
  npm_config_update_notifier: 'false'
}
const options = { env, cwd: home, encoding: 'utf8', timeout: patience_ms }

await check()

async function check () {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  const tarball = join(folder, readdirSync(folder).find(name => name.endsWith('.tgz')))
  const begun_ms = performance.now()
  const install = spawnSync(
    node,
    [npm, 'install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', tarball],
    { ...options, env: { ...env, ...(native && { ONNXRUNTIME_NODE_INSTALL: 'skip' }) }, timeout: 600_000 }
  )
  assert.equal(install.status, 0, install.stderr)
  const installed_s = (performance.now() - begun_ms) / 1000
  assert.doesNotMatch(install.stderr, /EBADENGINE/)
  const modules = join(prefix, 'lib/node_modules/skillet/node_modules')
  assert.ok(!existsSync(join(modules, '@scarf')), 'no install script of a stranger runs')
  const sizes = { packed: mebibytes(statSync(tarball).size), installed: mebibytes(sizeOf(prefix)) }
  console.log(`${version}: a tarball of ${sizes.packed} MiB, installed in ${installed_s.toFixed(0)} s, ${sizes.installed} MiB`)

  assert.match(skillet('--version'), /^\d+\.\d+\.\d+\n$/)
  assert.match(skillet('run', 'text:count', 'text=one two'), /2/)
  bundledPackages()
  found(JSON.parse(skillet('search', ...question.split(' '), '--json')))
  doctor()
  await mcp()
  await serve()
  await checkPlugins(tarball, { node, npm, home, options, skillet })
}

/** Checks tools whose packages are bundled with the skills instead of being installed. */
function bundledPackages () {
  assert.equal(skillet('run', 'math:evaluate', 'expression=1/3 + 1/6', 'numbers=Fraction'), '1/2\n')
  assert.match(
    skillet('run', 'time:cron', 'expression=30 9 * * 1-5', 'zone=Europe/Berlin', 'from=2026-03-27T12:00'),
    /2026-03-30T09:30/
  )
  assert.equal(
    skillet('run', 'data:convert', 'text=<a><b>1</b></a>', 'from=xml', 'to=json', 'indent=0'),
    '{"a":{"b":"1"}}\n'
  )
  assert.equal(
    skillet('run', 'data:convert', 'text=a,b\n1,2\n', 'from=csv', 'to=json', 'indent=0'),
    '[{"a":"1","b":"2"}]\n'
  )
  assert.match(skillet('run', 'data:diff', 'before={"a": 1}', 'after={"a": 2}'), /replace/)
  assert.match(skillet('run', 'web:markdown', 'html=<h1>Tea</h1>'), /^# Tea/)
  assert.match(skillet('run', 'text:diff', 'before=a', 'after=b'), /^\+b$/m)
  for (const name of ['mathjs', 'cheerio', 'luxon']) {
    assert.ok(
      !existsSync(join(prefix, 'lib/node_modules/skillet/node_modules', name)),
      `${name} is not installed beside`
    )
  }
}

function doctor () {
  const { healthy, findings } = JSON.parse(skillet('doctor', '--json', '--port', '0'))
  for (const { about, text } of findings.filter(({ about }) => ['search', 'HTTP engine'].includes(about))) {
    console.log(`  ${about}: ${text}`)
  }
  assert.ok(healthy, JSON.stringify(findings))
  if (native) {
    assert.ok(
      findings.some(({ about, level, text }) =>
        about === 'search' && level === 'ok' && text.includes('onnxruntime-node')),
      'the model runs in native code'
    )
  }
}

async function mcp () {
  const child = spawn('skillet', ['mcp'], { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = message => { child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`) }
  const call = async (id, method, params) => {
    send({ id, method, params })
    for (;;) {
      const { value, done } = await lines.next()
      assert.ok(!done, 'skillet mcp ended')
      const message = JSON.parse(value)
      if (message.id === id) return message.result
    }
  }
  await call(1, 'initialize', {
    protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tarball', version: '1' }
  })
  send({ method: 'notifications/initialized' })
  const { structuredContent } = await call(2, 'tools/call', {
    name: 'execute',
    arguments: { skill_name: 'text', tool_name: 'count', parameters: { text: 'one two' } }
  })
  assert.equal(structuredContent.status, 'success')
  const end_ms = performance.now() + patience_ms
  for (let id = 3, mode = ''; mode !== 'hybrid'; id++) {
    // Each question is different, since answers are cached.
    const answer = await call(id, 'tools/call', { name: 'search_skills', arguments: { query: `${question} ${id}` } })
    mode = answer.structuredContent.mode
    assert.ok(performance.now() < end_ms, 'an agent searches by words alone')
  }
  child.stdin.end()
  assert.deepEqual(await once(child, 'close'), [0, null])
}

async function serve () {
  const child = spawn('skillet', ['serve', '--port', '0', '--json', '--search-preload'], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const [first] = await once(child.stdout.setEncoding('utf8'), 'data')
  const { url } = JSON.parse(first)
  const ask = async (path, body) => await (await fetch(url + path, {
    signal: AbortSignal.timeout(patience_ms),
    ...(body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  })).json()
  const end_ms = performance.now() + patience_ms
  let health = await ask('/api/health')
  while (health.search.mode !== 'hybrid' && performance.now() < end_ms) {
    await new Promise(go => { setTimeout(go, 200) })
    health = await ask('/api/health')
  }
  assert.deepEqual([health.status, health.quarantined], ['healthy', []])
  found(await ask('/api/search', { query: question }))
  assert.equal(
    (await ask('/api/execute', { skill_name: 'text', tool_name: 'count', parameters: { text: 'one two' } })).status,
    'success'
  )
  for (const path of ['/docs/api', '/docs/api/swagger-ui-bundle.js']) {
    assert.equal((await fetch(url + path)).status, 200, path)
  }
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
}

/** Checks that search by meaning finds the tool for the question, with which it has no word in common. */
function found ({ mode, results }) {
  assert.equal(mode, 'hybrid')
  assert.ok(
    results.slice(0, 5).some(({ skill_name }) => skill_name === 'git'),
    JSON.stringify(results.map(({ skill_name, tool_name }) => `${skill_name}:${tool_name}`))
  )
}

/** Runs a command, which must succeed. @returns its standard output */
function skillet (...args) {
  const { status, stdout, stderr, error } = spawnSync('skillet', args, options)
  assert.equal(status, 0, `skillet ${args.join(' ')}: ${error ?? ''}${stderr}${stdout}`)
  return stdout
}

function which (command) {
  const found = (process.env.PATH ?? '').split(delimiter).map(place => join(place, command)).find(existsSync)
  assert.ok(found, `${command} is not there`)
  return found
}

function sizeOf (path) {
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0)
}

function mebibytes (bytes) {
  return (bytes / 1_048_576).toFixed(0)
}
