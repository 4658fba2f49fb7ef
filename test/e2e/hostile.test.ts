import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { execute, makeHome, request, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const hostile = fileURLToPath(new URL('../fixtures/executor-worker/hostile.mjs', import.meta.url))
const skill = (says: string, head = ''): string =>
  `${head}\nexport default { description: 'Says ${says}', tools: { say: { description: 'Say it', run: () => '${says}' } } }\n`

/** What is done while a module is read, by the name of its skill. */
const whileRead: Record<string, string> = {
  'posts-null': 'import { parentPort } from "node:worker_threads"; parentPort.postMessage(null)',
  'posts-reply': 'import { parentPort } from "node:worker_threads"; for (const message of [{ type: "ready" }, { type: "described" }, { type: "described", descriptions: [null] }]) try { parentPort.postMessage(message) } catch {}',
  'posts-moved': 'import { MessageChannel, parentPort } from "node:worker_threads"; const { port1 } = new MessageChannel(); port1.postMessage(parentPort, [parentPort])',
  'posts-later': 'import { parentPort } from "node:worker_threads"; setInterval(() => { try { parentPort.postMessage(null) } catch {} }, 1)',
  'patches-port': 'import { MessagePort } from "node:worker_threads"; try { MessagePort.prototype.postMessage = null } catch {}; try { Object.defineProperty(MessagePort.prototype, "postMessage", { value () {} }) } catch {}',
  'patches-json': 'JSON.stringify = () => ({}); JSON.parse = () => null',
  'patches-arrays': 'Array.prototype.push = Array.prototype.map = () => { throw new Error("patched") }',
  'patches-objects': 'Object.prototype.type = "ready"; Object.defineProperty(Object.prototype, "then", { value (resolve) { resolve(null) } })',
  'patches-promises': 'Promise.prototype.then = () => { throw new Error("patched") }',
  'deletes-globals': 'for (const name of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[name] } catch {}',
  'throws-null': 'setTimeout(() => { throw null }, 0); await new Promise(resolve => setTimeout(resolve, 20))',
  'throws-odd': 'setTimeout(() => { throw { toString: null, valueOf: null } }, 0); await new Promise(resolve => setTimeout(resolve, 20))',
  'throws-message': 'setTimeout(() => { throw Object.assign(new Error("x"), { message: { toString: null } }) }, 0); await new Promise(resolve => setTimeout(resolve, 20))',
  'rejects': 'for (let i = 0; i < 1000; i++) Promise.reject(new Error(String(i)))',
  'exits': 'process.exit(0)',
  'aborts': 'process.abort()',
  'prints': 'for (let i = 0; i < 20_000; i++) console.log("x".repeat(100))',
  'listens': 'process.removeAllListeners(); process.on("exit", () => { throw new Error("at exit") }); process.exit(1)',
  'handles': 'for (const handle of process._getActiveHandles?.() ?? []) handle.postMessage?.(null)'
}

interface Broken { name: string, error: string }

const home = await makeHome()
t.teardown(home.remove)
const reading = join(home.folder, 'reading')
const settings = (text: string): Promise<void> =>
  writeFile(join(home.folder, 'config', 'skillet', 'skillet.toml'), text)
await mkdir(home.skills, { recursive: true })
await settings('[plugin.skills-directory]\nwait_ms = 60000\n')

async function put (name: string, text: string): Promise<void> {
  await mkdir(join(reading, name), { recursive: true })
  await writeFile(join(reading, name, 'skill.js'), text)
}

t.setTimeout(300_000)

t.test('nothing that a module does while it is read ends the server, at the start or when it is saved', async t => {
  await put('a-good', skill('first'))
  await put('z-good', skill('last'))
  for (const [name, head] of Object.entries(whileRead)) await put(name, skill('something', head))
  const server = await startServer(home, ['--no-bundled-skills', '--skills', reading])
  t.teardown(server.kill)
  const state = async (): Promise<{ good: string[], bad: Broken[] }> => ({
    good: ((await request(server.url, '/api/skills')).body['skills'] as Broken[]).map(({ name }) => name),
    bad: (await request(server.url, '/api/health')).body['quarantined'] as Broken[]
  })
  const { good, bad } = await state()
  t.same(
    [...good, ...bad.map(({ name }) => name)].sort(),
    ['a-good', 'z-good', ...Object.keys(whileRead)].sort(),
    'each serves, or is named'
  )
  t.ok(good.includes('a-good') && good.includes('z-good'))
  for (const name of ['posts-null', 'exits', 'throws-odd', 'aborts']) {
    t.match(bad.find(one => one.name === name), { error: /\w/ }, name)
  }
  for (const [name, head] of Object.entries(whileRead)) await put(`saved-${name}`, skill('again', head))
  await until(async () => {
    const { good, bad } = await state()
    return good.length + bad.length === 2 + 2 * Object.keys(whileRead).length
  })
  for (const name of ['a-good', 'z-good']) {
    t.match((await execute(server.url, name, 'say')).body, { status: 'success' }, `${name} serves`)
  }
  t.equal(server.child.exitCode, null)
  t.equal(await server.stop(), 0)
})

t.test('nothing that a tool does ends the server', async t => {
  const skills = join(home.folder, 'tools')
  await mkdir(join(skills, 'hostile'), { recursive: true })
  await cp(hostile, join(skills, 'hostile', 'skill.mjs'))
  await mkdir(join(skills, 'good'), { recursive: true })
  await writeFile(join(skills, 'good', 'skill.js'), skill('good'))
  const server = await startServer(home, ['--no-bundled-skills', '--skills', skills])
  t.teardown(server.kill)
  const kinds = JSON.parse(String((await execute(server.url, 'hostile', 'list')).body['output'])) as string[]
  t.ok(kinds.length > 80)
  for (const kind of kinds) {
    const { body } = await execute(server.url, 'hostile', 'act', { kind }, { timeout_ms: 1500 })
    t.ok('status' in body || 'error' in body, kind)
    t.equal((await request(server.url, '/api/health')).status, 200, `health after ${kind}`)
    if (!kind.startsWith('patched ')) {
      t.match((await execute(server.url, 'good', 'say')).body, { output: 'good' }, `another tool after ${kind}`)
    }
  }
  t.equal(server.child.exitCode, null)
})

for (const mode of ['off', 'auto']) t.test(`modules that loop while they are read hold up neither the start nor others; they are refused by name (${mode})`, async t => {
  const skills = join(home.folder, `loops-${mode}`)
  const write = async (name: string, text: string): Promise<void> => {
    await mkdir(join(skills, name), { recursive: true })
    await writeFile(join(skills, name, 'skill.js'), text)
  }
  await write('good', skill('good'))
  for (const name of ['a-loop', 'b-loop', 'c-loop', 'm-loop', 'z-loop']) await write(name, skill(name, 'for (;;);'))
  const gate = join(skills, 'late', 'gate') // where a confined module can see it
  await write('late', skill('late', `import { existsSync } from 'node:fs'\nwhile (!existsSync(${JSON.stringify(gate)})) await new Promise(resolve => setTimeout(resolve, 10))`))
  // Longer than this test: what loops is still being read when the server listens.
  // A process takes longer to start than a thread.
  const wait_ms = mode === 'off' ? 3_000 : 15_000
  await settings(`[plugin.skills-directory]\ndescribe_ms = 60000\nwait_ms = ${wait_ms}\n`)
  const args = ['--no-bundled-skills', '--skills', skills, '--isolation-mode', mode]
  const ran = await skillet(home, ['run', 'good:say', ...args])
  t.match(ran, { status: 0, stdout: /^good/ }, 'a command reads no other skill')
  const server = await startServer(home, args)
  t.teardown(server.kill)
  const bad = async (): Promise<Broken[]> => (await request(server.url, '/api/health')).body['quarantined'] as Broken[]
  const names = new Set((await bad()).map(({ name }) => name))
  for (const name of ['a-loop', 'b-loop', 'c-loop', 'm-loop', 'z-loop', 'late']) t.ok(names.has(name), name)
  t.match((await bad()).find(({ name }) => name === 'a-loop')?.error, /takes long to read, and is being read still/)
  t.match((await execute(server.url, 'good', 'say')).body, { output: 'good' })
  t.match(await execute(server.url, 'a-loop', 'say'), {
    status: 404,
    body: { error: { message: /could not be loaded: it takes long to read/ } }
  })
  await write('another', skill('another'))
  await until(async () => (await execute(server.url, 'another', 'say')).body['output'] === 'another')
  await writeFile(gate, '')
  await until(async () => (await execute(server.url, 'late', 'say')).body['output'] === 'late')
  t.notOk((await bad()).some(({ name }) => name === 'late'), 'what was read late is refused no more')
})

t.test('what loops is refused for good once its own time is over', async t => {
  const skills = join(home.folder, 'short')
  await mkdir(join(skills, 'loop'), { recursive: true })
  await writeFile(join(skills, 'loop', 'skill.js'), 'for (;;);')
  await settings('[plugin.skills-directory]\ndescribe_ms = 2000\nwait_ms = 100\nwatch = "off"\n')
  const server = await startServer(home, ['--no-bundled-skills', '--skills', skills])
  t.teardown(server.kill)
  await until(async () => ((await request(server.url, '/api/health')).body['quarantined'] as Broken[]).some(
    ({ error }) => error === 'it took longer than 2 s to read'
  ))
})
