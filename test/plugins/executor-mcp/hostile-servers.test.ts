import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { SkillDefinition } from '../../../kernel/index.ts'
import { parseToolList, type ToolList } from '../../../plugins/toolkit/mcp/tool-list.ts'
import { until } from '../../../plugins/testing/until.ts'
import { startRemote } from '../../support/mcp-remote.ts'
import { callOf, folder, openMcp, removeFolder, runMcp, serverSkill } from '../../support/mcp-servers.ts'
import { gone, runs } from '../../support/processes.ts'

// What users of other programs complain of: servers that crash, hang, flood or lie about their tools, and what is left.

t.teardown(removeFolder)
t.setTimeout(280_000)

const linesOf = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(line => line !== '')
const listOf = async (skill: SkillDefinition): Promise<NonNullable<ToolList['listed']> | undefined> => {
  const text = await readFile(String(skill.target?.['list_file']), 'utf8').catch(() => '')
  return parseToolList(text, skill.name)?.listed
}
const remoteSkill = (url: string): SkillDefinition => {
  const skill = serverSkill({}, { url })
  const { command: _, ...target } = skill.target ?? {}
  return { ...skill, target }
}

t.test('calls and changes of the list share one session, one handshake, and it is ended at its end', async t => {
  const { executor, close } = await openMcp(t)
  const remote = await startRemote(t)
  const skill = remoteSkill(remote.url)
  const call = () => runMcp(executor, callOf(skill, 'echo'))
  await Promise.all(Array.from({ length: 10 }, call))
  await until(async () => remote.counts['GET'] === 1)
  for (const name of ['second', 'third']) {
    remote.tools.push(name)
    remote.changed()
    await until(async () => (await listOf(skill))?.tools.at(-1)?.['name'] === name)
    t.match(await call(), { status: 'success', output: 'said' })
  }
  t.match(remote.counts, { 'initialize': 1, 'notifications/initialized': 1, 'tools/call': 12 })
  t.equal(remote.sessions.size, 1)
  await close()
  t.equal(remote.sessions.size, 0, 'nothing of it is left at the server')
})

t.test('a server elsewhere that was restarted serves the next calls, with the tools that it has now', async t => {
  const { executor } = await openMcp(t)
  const remote = await startRemote(t)
  const skill = remoteSkill(remote.url)
  t.match(await runMcp(executor, callOf(skill, 'echo')), { status: 'success' })
  remote.tools.push('newer')
  remote.restart()
  await until(async () => (await runMcp(executor, callOf(skill, 'echo'))).status === 'success')
  await until(async () => (await listOf(skill))?.tools.length === 2)
  t.equal(remote.counts['initialize'], 2)
  remote.unknown = 400
  remote.restart()
  t.match(await runMcp(executor, callOf(skill, 'echo')),
    { status: 'failed', error: { message: /answers 400, as servers do that were restarted/ } })
  t.match(await runMcp(executor, callOf(skill, 'echo')), { status: 'success' }, 'so do some servers')
})

t.test('a server that always crashes has one process at a time, and not many of them', async t => {
  const { executor } = await openMcp(t)
  const starts = join(folder, 'crashes')
  const skill = serverSkill({ MODE: 'dies', STARTS: starts })
  const said = new Set<string>()
  await until(async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => runMcp(executor, callOf(skill, 'hang'))))
    for (const outcome of outcomes) said.add(outcome.status === 'failed' ? outcome.error.message : outcome.status)
    return [...said].some(text => /times in a row, and it is started again in/.test(text))
  })
  const pids = (await linesOf(starts)).map(Number)
  t.ok(pids.length < 8, `${pids.length} starts`)
  await gone(pids)
  t.notOk(said.has('success'))
})

t.test('servers that never answer delay neither the calls nor the tools of others', async t => {
  const { executor } = await openMcp(t)
  const silent = [1, 2].map(() => serverSkill({ MODE: 'silent' }, { start_ms: 200_000 }))
  const well = serverSkill()
  executor.follow?.([...silent, well], () => undefined)
  const abort = new AbortController()
  const waiting = silent.map(skill => runMcp(executor, callOf(skill, 'echo'), { signal: abort.signal }))
  const other = serverSkill()
  t.match(await runMcp(executor, callOf(other, 'echo', { text: 'well' })), { status: 'success', output: 'well' })
  await until(async () => (await listOf(well)) !== undefined)
  abort.abort()
  for (const outcome of await Promise.all(waiting)) t.match(outcome, { status: 'cancelled' })
})

t.test('a list that is long, endless, never comes, or changes all the time', async t => {
  const { executor } = await openMcp(t)
  const listed = async (MODE: string, env: Record<string, string> = {}): Promise<SkillDefinition> => {
    const skill = serverSkill({ MODE, ...env })
    t.match(await runMcp(executor, callOf(skill, 'echo', { text: MODE })), { status: 'success', output: MODE })
    return skill
  }
  const cut = async (skill: SkillDefinition): Promise<[number, boolean]> => {
    await until(async () => await listOf(skill) !== undefined)
    const { tools = [], of = 0 } = await listOf(skill) ?? {}
    return [tools.length, of > tools.length]
  }
  t.same(await cut(await listed('many')), [10_000, true], 'what is left out is known')
  t.same(await cut(await listed('endless')), [0, true])
  await listed('list-hangs')
  const methods = join(folder, 'methods')
  const changing = await listed('changes', { METHODS: methods })
  await cut(changing)
  for (let i = 0; i < 5; i++) await runMcp(executor, callOf(changing, 'sleep', { ms: 50 }))
  const lists = (await linesOf(methods)).filter(method => method === 'tools/list')
  t.ok(lists.length < 10, `${lists.length} readings after thousands of notifications`)
  t.equal((await linesOf(methods)).filter(method => method === 'initialize').length, 1)
})

t.test('what is no answer, or an answer to nobody, changes no call', async t => {
  const { executor } = await openMcp(t)
  const skill = serverSkill({ MODE: 'noise' })
  const texts = Array.from({ length: 20 }, (_, i) => `text ${i}`)
  const outcomes = await Promise.all(texts.map(text => runMcp(executor, callOf(skill, 'echo', { text }))))
  t.same(outcomes.map(({ output }) => output), texts)
  t.ok(await runs(Number((await runMcp(executor, callOf(skill, 'pid'))).output)), 'one process serves them')
})
