import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Outcome, Permissions, SkillDefinition } from '../../../kernel/index.ts'
import plugin from '../../../plugins/executor-mcp/index.ts'
import { tryServerLevels } from '../../../plugins/executor-mcp/process/probe.ts'
import { openPlugin } from '../../../plugins/testing/open-plugin.ts'
import { makeUser } from '../../support/confined.ts'
import { callOf, removeFolder, runMcp, serverSkill, type Heard } from '../../support/mcp-servers.ts'
import { startWebServer } from '../../support/web-server.ts'

// What confined servers reach that their skill lists, what the level `strict` takes from them, and how much they use.

t.teardown(removeFolder)
t.setTimeout(280_000)

const fixture = fileURLToPath(new URL('../../fixtures/mcp-servers/attacker.mjs', import.meta.url))
const user = makeUser(t, {
  'notes.txt': 'what is no secret', 'own/file': 'named', 'skill/attacker.mjs': readFileSync(fixture, 'utf8')
})
const { sandbox, strict } = await tryServerLevels()
const skipWithout = (lacks: string | undefined): { skip: string | false } =>
  ({ skip: lacks === undefined ? false : `this machine lacks it: ${lacks}` })
const data_dir = join(user, 'data')
mkdirSync(data_dir, { recursive: true })
const { service: executor, close } = await openPlugin(plugin, { data_dir, config: { isolation: { mode: 'auto' } } })
t.teardown(close)

function attacker (permissions: Partial<Permissions>): SkillDefinition {
  const skill = serverSkill({}, { command: [process.execPath, 'attacker.mjs'], cwd: join(user, 'skill') })
  return { ...skill, directory: join(user, 'skill'), permissions: { ...skill.permissions, ...permissions } }
}

/** A call of a tool of one server. */
function callerOf (skill: SkillDefinition): (tool: string, parameters?: object) => Promise<Outcome & { heard: Heard }> {
  return (tool, parameters = {}) => runMcp(executor, callOf(skill, tool, { ...parameters }))
}

t.test('a server reaches what its skill lists, by the proxy alone, and each call is told what was refused', skipWithout(sandbox), async t => {
  const [named, other] = await Promise.all([0, 1].map(() =>
    startWebServer((_request, reply) => { reply.end('reached') })))
  if (named === undefined || other === undefined) throw new Error('no servers')
  t.teardown(() => { named.close(); other.close() })
  const skill = attacker({ network: [`127.0.0.1:${named.port}`] })
  const call = callerOf(skill)
  t.match(await call('fetch', { url: `${named.url}/a` }), { status: 'success', output: '200 reached' })
  for (const _ of [1, 2]) {
    const { output, heard } = await call('fetch', { url: `${other.url}/b` })
    t.match(output, /^403 .*may not reach 127\.0\.0\.1:/)
    t.match(heard.logs, [['warn', /may not reach 127\.0\.0\.1:/]], 'each call is told')
  }
  const forged = `http://run:1.${'A'.repeat(43)}@127.0.0.1:3128`
  t.match(await call('fetch', { url: named.url, proxy: forged }), { output: /^407 / }, 'not without the token')
  for (const { port } of [named, other]) {
    t.match(await call('connect', { target: { host: '127.0.0.1', port } }), { output: /^refused: E/ })
  }
  t.same([named.asked, other.asked], [['GET /a'], []])
  const { HTTPS_PROXY, HTTP_PROXY } = JSON.parse((await call('env')).output) as Record<string, string>
  t.ok(HTTPS_PROXY !== undefined && HTTPS_PROXY === HTTP_PROXY)
  const theirs = callerOf(attacker({ network: [`127.0.0.1:${other.port}`] }))
  t.match(await theirs('fetch', { url: other.url, proxy: HTTP_PROXY }), { output: /^407 / },
    'another server can\'t use the token')
})

t.test('a server that wants what is not listed at its start says so when it fails', skipWithout(sandbox), async t => {
  const skill = attacker({ network: ['127.0.0.1:1'] })
  const command = [process.execPath, 'attacker.mjs', 'http://127.0.0.1:2/package']
  const begins = { ...skill, target: { ...skill.target, command } }
  const why = /no package: 403.*may not reach 127\.0\.0\.1:2: permissions\.network/s
  t.match(await callerOf(begins)('env'), { status: 'failed', error: { message: why } })
})

t.test('at the level "strict" a server has no home and no /tmp of others, and is told which level it has', skipWithout(strict), async t => {
  // The program of the tests may be in a home directory itself.
  const skill = attacker({ isolation: 'strict', write: [join(user, 'own')] })
  const call = callerOf(skill)
  const file = await call('read', { path: join(user, 'own/file') })
  t.match(file, { status: 'success', output: 'named', heard: { isolations: ['strict'] } })
  t.match(await call('read', { path: join(user, 'notes.txt') }), { output: /^refused: E(NOENT|ACCES)/ })
  t.match(await call('write', { path: join(user, 'own/file') }), { output: 'written' })
  t.match(await call('write', { path: '/tmp/file' }), { output: /^refused: E/ })
  t.match(await call('list', { path: dirname(user) }), { output: /^refused: E/ })
})

t.test('a server that uses too much memory, or has too many processes, is ended and starts anew', skipWithout(sandbox), async t => {
  for (const [permissions, tool, parameters, why] of [
    [{ memory_bytes_max: 160 * 1_048_576 }, 'memory', { mib: 600 }, /used more than 160 MiB of memory and was ended/],
    [{ processes_max: 40 }, 'processes', { count: 60 }, /had more than 40 processes and threads and was ended/]
  ] as const) {
    const call = callerOf(attacker(permissions))
    t.match(await call(tool, parameters), { status: 'failed', error: { message: why } })
    t.match(await call('burn', { ms: 1 }), { status: 'success' }, 'the next call has a server')
  }
})

t.test('the processor\'s time counts anew when no other call runs, and for each of those that overlap', skipWithout(sandbox), async t => {
  const call = callerOf(attacker({ cpu_ms_max: 800 }))
  for (const _ of [1, 2, 3]) t.match(await call('burn', { ms: 450 }), { status: 'success' })
  const together = await Promise.all([1, 2, 3].map(() => call('simmer', { ms: 450 })))
  t.strictSame(together.map(({ status }) => status), ['success', 'success', 'success'])
  t.match(await call('burn', { ms: 10_000 }), { status: 'failed',
    error: { message: /ended during .*used more than 800 ms of processor time/ } })
})
