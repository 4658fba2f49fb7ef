import t from 'tap'
import {
  ACCESS_PATTERN, cancelExecution, compileAllows, execute, getExecution, getSkill, getStatistics, health,
  listExecutions, listSkills, searchSkills, type Access, type JsonObject, type Operation, type SkillDefinition
} from '../../../kernel/index.ts'
import { bootKernel } from '../../support/access-kernel.ts'

t.test('patterns say which skills and tools', async t => {
  const allows = compileAllows(['git', 'data-*', 'text:co?nt', 'text:a.*'])
  for (const [skill, tool] of [
    ['git', 'log'], ['data-', 'x'], ['data-csv', 'rows'], ['text', 'count'], ['text', 'a.b'], ['text', undefined],
    ['git', undefined]
  ] as const) {
    t.ok(allows?.(skill, tool), `${skill}:${tool}`)
  }
  for (const [skill, tool] of [
    ['gitx', 'log'], ['xgit', 'log'], ['data', 'x'], ['text', 'upper'], ['text', 'ab'], ['text', 'count2'],
    ['hash', undefined], ['', ''], ['git\n', 'log']
  ] as const) {
    t.notOk(allows?.(skill, tool), `${skill}:${tool}`)
  }
  t.equal(compileAllows([]), undefined, 'no pattern restricts nothing')
  for (const bad of ['', ':log', 'git:', 'GIT', 'a:b:c', 'a(b', 'a|b', '!a', '[a]']) {
    t.notOk(ACCESS_PATTERN.test(bad), bad)
  }
})

t.test('a call sees and runs what its key may, and nothing tells it of the rest', async t => {
  const { gateway, stop } = await bootKernel({ git: ['log', 'diff'], text: ['count', 'upper'] })
  t.teardown(stop)
  const everything: readonly ('read' | 'execute')[] = ['read', 'execute']
  const key = (name: string, skills: string[], scopes = everything): Access => {
    const allows = compileAllows(skills)
    return { key: name, scopes: new Set(scopes), ...(allows !== undefined && { allows }) }
  }
  const call = (access: Access | undefined, operation: Operation, input: JsonObject): Promise<JsonObject> =>
    gateway.invoke(operation, input, {
      transport: 'http', signal: new AbortController().signal, access
    }) as Promise<JsonObject>
  const codeOf = async (answer: Promise<unknown>): Promise<string> =>
    await answer.then(() => 'ok', (error: { code: string }) => error.code)
  const run = (access: Access | undefined, skill_name: string, tool_name: string): Promise<JsonObject> =>
    call(access, execute as unknown as Operation, { skill_name, tool_name, parameters: {} })

  const all = key('all', [])
  const narrow = key('narrow', ['git:log'])
  const reader = key('reader', [], ['read'])
  const runner = key('runner', [], ['execute'])

  const ids: Record<string, string> = {}
  for (const [skill, tool, access] of [
    ['git', 'log', all], ['git', 'diff', all], ['text', 'count', undefined], ['git', 'log', narrow]
  ] as const) {
    const { execution_id } = await run(access, skill, tool)
    ids[`${skill}:${tool}:${access?.key}`] = String(execution_id)
  }
  const op = (operation: unknown): Operation => operation as Operation

  t.equal((await call(all, op(getExecution), { id: ids['git:log:all'] }))['key'], 'all', 'the record names the key')
  t.equal((await call(all, op(getExecution), { id: ids['text:count:undefined'] }))['key'], null)

  t.equal(await codeOf(run(reader, 'git', 'log')), 'FORBIDDEN')
  t.equal(await codeOf(call(reader, op(cancelExecution), { id: ids['git:log:all'] })), 'FORBIDDEN')
  t.equal(await codeOf(call(reader, op(health), {})), 'ok')
  t.equal(await codeOf(run(runner, 'git', 'log')), 'ok')
  for (const [operation, input] of [
    [listSkills, {}], [getSkill, { name: 'git' }], [listExecutions, {}], [searchSkills, { query: 'log' }], [health, {}],
    [getStatistics, {}]
  ] as const) {
    t.equal(await codeOf(call(runner, op(operation), { ...input })), 'FORBIDDEN', operation.name)
  }

  t.match(await call(narrow, op(listSkills), {}), { total: 1, skills: [{ name: 'git', tools: [{ name: 'log' }] }] })
  t.equal(((await call(narrow, op(getSkill), { name: 'git' }))['tools'] as unknown[]).length, 1)
  for (const name of ['text', 'nothing']) {
    t.equal(await codeOf(call(narrow, op(getSkill), { name })), 'FORBIDDEN', `${name}: there or not`)
  }
  for (const [skill, tool] of [['git', 'diff'], ['git', 'nothing'], ['text', 'count'], ['nothing', 'x']] as const) {
    t.equal(await codeOf(run(narrow, skill, tool)), 'FORBIDDEN', `${skill}:${tool}`)
  }
  t.same((await call(narrow, op(searchSkills), { query: 'diff' }))['results'], [])
  t.match((await call(narrow, op(searchSkills), { query: 'log', top_k: 1 }))['results'], [{ tool_name: 'log' }])

  t.match(await call(narrow, op(listExecutions), { limit: 1 }), {
    total: 3, executions: [{ tool_name: 'log' }], next_cursor: String
  })
  t.equal((await call(narrow, op(listExecutions), { skill_name: 'text' }))['total'], 0)
  t.match(await call(narrow, op(getStatistics), {}), {
    total: { count: 3, statuses: { success: 3 } }, tools: [{ skill_name: 'git', tool_name: 'log' }], tools_total: 1
  })
  t.match(await call(narrow, op(getStatistics), { skill_name: 'text' }), { total: { count: 0 }, tools_total: 0 })
  t.equal(await codeOf(call(narrow, op(getExecution), { id: ids['git:log:all'] })), 'ok')
  for (const operation of [getExecution, cancelExecution]) {
    t.equal(
      await codeOf(call(narrow, op(operation), { id: ids['git:diff:all'] })),
      'EXECUTION_NOT_FOUND',
      'as if it were not there'
    )
  }
  t.equal((await call(undefined, op(listExecutions), {}))['total'], 5, 'without a key: all')
})

t.test('rights follow a reload of the skills', async t => {
  let changed = (): void => {}
  const served: { skills: SkillDefinition[] } = { skills: [] }
  const { gateway, stop, skillsOf } =
    await bootKernel({ git: ['log'] }, source => { changed = source.changed; served.skills = source.skills })
  t.teardown(stop)
  const allows = compileAllows(['git', 'new'])
  const access: Access = { key: 'k', scopes: new Set(['read']), ...(allows !== undefined && { allows }) }
  const names = async (): Promise<string[]> => (
    await gateway.invoke(listSkills, {}, { transport: 'http', signal: new AbortController().signal, access })
  ).skills.map(({ name }) => name)
  t.same(await names(), ['git'])
  served.skills.splice(0, 1, ...skillsOf({ new: ['x'], other: ['y'] }))
  const reloaded = new Promise<void>(resolve => { gateway.bus.on('skills', () => { resolve() }) })
  changed()
  await reloaded
  t.same(await names(), ['new'])
})
