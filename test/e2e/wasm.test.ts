import { cp, mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { execute, launcher, makeHome, node, request, skillet, startServer, type Home } from '../support/program.ts'
import { fixture, manifestOf, putSkill } from '../support/wasm.ts'

t.setTimeout(280_000)
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A home with the command as `core` and as `component`, a secret, and a file that is no WebAssembly. */
async function homeWith (t: Test): Promise<Home> {
  const home = await makeHome()
  t.teardown(() => home.remove())
  for (const [name, file] of [['core', 'probe.wasm'], ['component', 'probe.component.wasm']] as const) {
    await putSkill(home.skills, name, manifestOf('probe.wasm', '[permissions]\nsecrets = ["TOKEN"]\n'), {
      'probe.wasm': fixture(file)
    })
    t.match(await skillet(home, ['secret', 'set', name, 'TOKEN'], { input: 'very secret text' }), { status: 0 })
  }
  await putSkill(home.skills, 'damaged', manifestOf('probe.wasm'), { 'probe.wasm': Buffer.from('no WebAssembly') })
  return home
}

t.test('commands in WebAssembly over HTTP: searched, run at once, given secrets, limited', async t => {
  const home = await homeWith(t)
  const server = await startServer(home)
  t.teardown(() => server.stop())
  t.match((await request(server.url, '/api/health')).body, { quarantined: [{ name: 'damaged' }] })
  for (const skill of ['core', 'component']) {
    const run = (words: string[], more = {}) => execute(server.url, skill, 'run', { words }, more)
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => run(['args', String(i)])))
    t.same(answers.map(({ body }) => body['output']), answers.map((_, i) => `probe.wasm\nargs\n${i}\n`))
    t.match((await run(['loop'], { timeout_ms: 500 })).body, { error: { code: 'TIMEOUT' } })
    t.match((await run(['exit', '1'])).body, { error: { code: 'TOOL_EXECUTION_FAILED', message: /: the reason$/ } })
    const { body: { output } } = await run(['env'])
    t.match(output, /^TOKEN=\[secret[^\n]*\]$/m, 'it has the secret, which is taken out of its output')
  }
  const found = await request(server.url, '/api/search', { query: 'a command in WebAssembly', runtime: 'wasm' })
  t.match(JSON.stringify(found.body), /"component"/)
})

t.test('without the transpiler, components are refused with the remedy, and all others serve', async t => {
  const home = await homeWith(t)
  const place = join(home.folder, 'installed')
  await mkdir(join(place, 'node_modules'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name === '@bytecodealliance') continue
    await symlink(join(root, 'node_modules', name), join(place, 'node_modules', name))
  }
  for (const part of ['dist/program', 'dist/plugins', 'dist/kernel', 'dist/build-info.json', 'package.json']) {
    await cp(join(root, part), join(place, part), { recursive: true })
  }
  await symlink(join(root, 'plugins'), join(place, 'plugins')) // the model of the search
  const program = join(place, 'dist', 'program', 'main.js')
  const run = async (...args: string[]): Promise<string> => {
    const child = spawn(launcher, ['-u', 'NODE_OPTIONS', node, program, ...args], {
      cwd: home.folder, env: home.env, stdio: ['ignore', 'pipe', 'pipe']
    })
    const [out, errors] = await Promise.all([child.stdout, child.stderr].map(async stream =>
      (await stream.setEncoding('utf8').toArray()).join('')))
    return `${out}${errors}`
  }
  t.match(await run('run', 'core:run', '--params', '{"words":["args"]}', '--no-bundled-skills'), /^probe\.wasm\nargs\n/)
  const refused = await run('run', 'component:run', '--params', '{"words":["args"]}', '--no-bundled-skills')
  t.match(refused, /needs the package @bytecodealliance\/jco-transpile, and that is missing; install it/)
})
