import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Executor, JsonObject, Permissions, SkillDefinition } from '../../../kernel/index.ts'
import plugin from '../../../plugins/executor-mcp/index.ts'
import { tryServerLevels } from '../../../plugins/executor-mcp/process/probe.ts'
import { openPlugin } from '../../../plugins/testing/open-plugin.ts'
import { until } from '../../../plugins/testing/until.ts'
import { makeUser } from '../../support/confined.ts'
import { callOf, removeFolder, runMcp, serverSkill } from '../../support/mcp-servers.ts'

t.teardown(removeFolder)
t.setTimeout(280_000)

const fixture = fileURLToPath(new URL('../../fixtures/mcp-servers/attacker.mjs', import.meta.url))
const user = makeUser(t, {
  '.ssh/id_ed25519': 'a private key', 'notes.txt': 'what is no secret', 'own/file': 'old',
  'skill/attacker.mjs': readFileSync(fixture, 'utf8')
})
const { sandbox: lacks } = await tryServerLevels()
const options = { skip: lacks === undefined ? false : `this machine has no sandbox: ${lacks}` }

interface Open { executor: Executor, data_dir: string, close: () => Promise<void> }

async function open (t: Test, mode: string): Promise<Open> {
  const data_dir = join(user, 'data')
  mkdirSync(data_dir, { recursive: true })
  const { service: executor, close } = await openPlugin(plugin, { data_dir, config: { isolation: { mode } } })
  t.teardown(close)
  return { executor, data_dir, close }
}

function attackerSkill (permissions: Partial<Permissions> = {}, more: Partial<SkillDefinition> = {}): SkillDefinition {
  const skill = serverSkill({}, { command: [process.execPath, 'attacker.mjs'], cwd: join(user, 'skill') })
  return {
    ...skill, directory: join(user, 'skill'), permissions: { ...skill.permissions, ...permissions }, ...more
  }
}

/** What an attack came to. */
async function said (executor: Executor, skill: SkillDefinition, tool: string,
  parameters: JsonObject = {}): Promise<string> {
  const outcome = await runMcp(executor, callOf(skill, tool, parameters))
  if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome))
  return outcome.output
}

t.test('a server that is not trusted reaches no secret, no process and no network of the machine', options, async t => {
  process.env['A_SECRET_OF_THE_SERVER'] = 'not for skills'
  t.teardown(() => { delete process.env['A_SECRET_OF_THE_SERVER'] })
  const { executor, data_dir } = await open(t, 'auto')
  const skill = attackerSkill({ env: ['HOME'] })
  const listening = createServer().listen(0, '127.0.0.1')
  t.teardown(() => { listening.close() })
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo

  const run = await runMcp(executor, callOf(skill, 'read', { path: join(user, 'notes.txt') }))
  t.match(run, { status: 'success', output: 'what is no secret', heard: { isolations: ['sandbox'] } })
  t.match(await said(executor, skill, 'read', { path: join(user, '.ssh/id_ed25519') }), /^refused: E(ACCES|NOENT)/)
  t.match(await said(executor, skill, 'list', { path: data_dir }), /^refused: EACCES/)
  t.match(await said(executor, skill, 'write', { path: join(user, 'notes.txt') }), /^refused: E(ROFS|ACCES)/)
  t.notMatch(await said(executor, skill, 'environments'), /not for skills/)
  t.match(await said(executor, skill, 'kill', { pid: process.pid }), /^refused: ESRCH/)
  t.match(await said(executor, skill, 'connect', { target: { host: '127.0.0.1', port } }), /^refused: E/)
  t.match(await said(executor, skill, 'connect', { target: { path: '/var/run/docker.sock' } }), /^refused: E/)
  const env = JSON.parse(await said(executor, skill, 'env')) as Record<string, string>
  t.match(env, { HOME: user, XDG_CACHE_HOME: /skillet\/mcp\/server/ })
  t.equal(
    await said(executor, skill, 'write', { path: join(env['XDG_CACHE_HOME'] ?? '', 'kept') }), 'written',
    'it has a folder of its own for packages'
  )
})

t.test('permissions open what they name, and secrets are in its environment', options, async t => {
  const { executor } = await open(t, 'required')
  const listening = createServer().listen(0, '127.0.0.1')
  t.teardown(() => { listening.close() })
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  const skill = attackerSkill({ network: true, write: [join(user, 'own')], secrets: ['A_TOKEN'] })
  t.equal(await said(executor, skill, 'write', { path: join(user, 'own/file') }), 'written')
  t.equal(readFileSync(join(user, 'own/file'), 'utf8'), 'written')
  t.equal(await said(executor, skill, 'connect', { target: { host: '127.0.0.1', port } }), 'connected')
  const { output } = await runMcp(executor, callOf(skill, 'env'), { secrets: { A_TOKEN: 'tell nobody' } })
  t.match(JSON.parse(output), { A_TOKEN: 'tell nobody' })
  const blind = attackerSkill({ read: [dirname(process.execPath)] })
  t.match(await said(executor, blind, 'read', { path: join(user, 'notes.txt') }), /^refused: EACCES/)
})

t.test('what a server starts ends with it, whatever session that is in, and it ends although it ignores it', options, async t => {
  const { executor, close } = await open(t, 'auto')
  const skill = attackerSkill()
  t.equal(await said(executor, skill, 'daemon', { mark: '98765.4321' }), 'left')
  const isAlive = (): boolean => spawnSync('pgrep', ['-f', 'sleep 98765.4321']).status === 0
  await until(async () => isAlive())
  t.equal(await said(executor, skill, 'ignore'), 'ignoring')
  await close()
  await until(async () => !isAlive())
})

t.test('a trusted server runs without a sandbox, and one that must have it does not run without', async t => {
  const { executor } = await open(t, 'auto')
  const trusted = await runMcp(executor, callOf(attackerSkill({}, { trusted: true }), 'env'))
  t.match(trusted, { status: 'success', heard: { isolations: ['process'] } })
  const listed = attackerSkill({ network: ['no host'], isolation: 'sandbox' })
  t.match(await runMcp(executor, callOf(listed, 'env')), { status: 'failed', error: { message: /can't be used/ } })
})
