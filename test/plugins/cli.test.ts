import { Command } from 'commander'
import * as fc from 'fast-check'
import t from 'tap'
import { configSchema, definePlugin, execute, listExecutions, type ExecutionSummary } from '../../kernel/index.ts'
import type { BuiltinPlugins } from '../../plugins/cli/boot.ts'
import { isWithin } from '../../plugins/cli/commands/doctor.ts'
import searchCommand from '../../plugins/cli/commands/search.ts'
import { follow } from '../../plugins/cli/follow.ts'
import { align, duration, paragraph, plain } from '../../plugins/cli/terminal/layout.ts'
import { isColored, processTerminal, type Terminal } from '../../plugins/cli/terminal/terminal.ts'
import { timeOf } from '../../plugins/cli/time.ts'
import { displayWidth } from '../../plugins/cli/terminal/wrap.ts'
import { startKernel } from '../support/kernel.ts'
import { until } from '../../plugins/testing/until.ts'

t.test('a version is within the ranges of package.json', async t => {
  const range = '^20.19.0 || ^22.12.0 || >=24.0.0'
  for (const version of ['20.19.0', '22.12.0', '22.23.3', '24.0.0', '25.1.0']) t.ok(isWithin(version, range), version)
  for (const version of ['18.20.0', '20.9.0', '21.0.0', '22.2.0', '23.5.0']) t.notOk(isWithin(version, range), version)
})

t.test('columns stand below each other, whatever is in them, and nothing in them steers a terminal', async t => {
  const hostile = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', '\u001b', '\n', '\u009b', '\u202e', '\0', '字', '🚀', 'e\u0301'), maxLength: 12
  })
  const rows = fc.array(fc.tuple(hostile, hostile, hostile), { minLength: 1, maxLength: 8 })
  fc.assert(fc.property(rows, fc.option(fc.integer({ min: 2, max: 40 })), (rows, columns) => {
    const lines = align(rows.map(([a, b, c]) => [a, { text: b, style: text => text }, `|${c}`]), {
      columns: columns ?? undefined
    }).split('\n')
    t.notMatch(lines.join(''), /[\p{Cc}\u202e]/u)
    if (columns !== null) {
      t.ok(lines.every(line => displayWidth(line) <= columns))
      t.equal(
        lines.join('').replaceAll(' ', ''),
        plain(rows.map(([a, b, c]) => `${a}${b}|${c}`).join('')).replaceAll(' ', ''),
        'nothing is cut'
      )
    } else {
      t.equal(lines.length, rows.length + 1)
      t.equal(new Set(lines.slice(0, -1).map(line => displayWidth(line.slice(0, line.indexOf('|'))))).size, 1)
    }
  }))
  t.equal(
    align([['a', 'b'], ['x'.repeat(50), 'c']]), `a  b\n${'x'.repeat(50)}  c\n`, 'a wide cell pushes its own line only'
  )
  t.same(['a', '字', '🚀', 'e\u0301', '👩‍👩‍👧', 'ｱ'].map(displayWidth), [1, 2, 2, 1, 2, 1])
  t.equal(align([['a', 'the description of a parameter']], { columns: 27 }), 'a  the description of a\n   parameter\n')
  t.equal(
    align([['a', 'one two three']], { columns: 10 }),
    'a\n  one two\n  three\n',
    'below, where little room is left beside'
  )
  t.equal(paragraph(['日本', ' 語の説明 of it'], { columns: 9 }), '日本 語の\n  説明 of\n  it\n')
  t.equal(plain('a\u001b[31mb\r\nc'), 'a [31mb c')
  t.same([0, 999, 1000, 1234, 59_999, 60_000, 200_400].map(duration), [
    '0 ms', '999 ms', '1 s', '1.2 s', '60 s', '1 min 0 s', '3 min 20 s'
  ])
})

t.test('only terminals are coloured, unless it is said otherwise', async t => {
  const terminal = { isTTY: true }
  t.same(
    [{}, { TERM: 'dumb' }, { NO_COLOR: '1' }, { NO_COLOR: '', FORCE_COLOR: '' }, { FORCE_COLOR: '0' }]
      .map(env => isColored(terminal, env)),
    [true, false, false, true, false]
  )
  t.same([{}, { FORCE_COLOR: '1' }, { FORCE_COLOR: '1', NO_COLOR: '1' }, { CI: '1' }].map(env => isColored({}, env)), [
    false, true, false, false
  ])
})

t.test('times are how long ago, local days and times, or as they are', async t => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5)
  t.same(['90s', '30m', '2h', '7d'].map(text => timeOf(text, now)), [
    '2026-01-02T03:02:35.000Z', '2026-01-02T02:34:05.000Z', '2026-01-02T01:04:05.000Z', '2025-12-26T03:04:05.000Z'
  ])
  t.equal(timeOf('2026-01-02'), new Date(2026, 0, 2).toISOString())
  t.equal(timeOf('2026-01-02 03:04'), new Date(2026, 0, 2, 3, 4).toISOString())
  for (const text of ['2026-01-02T03:04:05Z', 'soon', '2h ago', '', '2026-99-99']) t.equal(timeOf(text), text)
})

t.test('following shows what is there, what comes and how it ends, each once and only what fits', async t => {
  const ends: (() => void)[] = []
  const { kernel: { gateway }, close } = await startKernel({
    tools: {
      quick: { run: () => '' },
      held: { run: () => new Promise(resolve => { ends.push(() => { resolve('') }) }) }
    }
  })
  t.teardown(close)
  const signal = new AbortController().signal
  const run = (tool_name: string): Promise<{ execution_id: string }> =>
    gateway.invoke(execute, { skill_name: 'subject', tool_name, parameters: {} }, { transport: 'cli', signal })
  for (let i = 0; i < 3; i++) await run('quick')
  const held = run('held')
  await until(async () =>
    ends.length === 1
    && (await gateway.invoke(listExecutions, { status: 'running' }, { transport: 'cli', signal })).total === 1)

  const start = (first: object): { seen: ExecutionSummary[], stop: () => Promise<void> } => {
    const seen: ExecutionSummary[] = []
    const stopped = new AbortController()
    const ended = follow(gateway, { ...first }, execution => { seen.push(execution) }, stopped.signal)
    const stop = async (): Promise<void> => { stopped.abort(); await ended }
    t.teardown(stop)
    return { seen, stop }
  }
  const all = start({ limit: 2 })
  const some = start({ limit: 500, tool_name: 'held', status: 'success' })
  await until(() => all.seen.length === 2)
  t.match(
    all.seen,
    [{ tool_name: 'quick', status: 'success' }, { tool_name: 'held', status: 'running' }],
    'the newest of what is there, oldest first'
  )

  // More than a page of new ones between two looks.
  await Promise.all(Array.from({ length: 30 }, () => run('quick')))
  ends[0]?.()
  const { execution_id } = await held
  await until(() => all.seen.length === 33 && some.seen.length === 1)
  await Promise.all([all.stop(), some.stop()])
  t.match(some.seen, [{ id: execution_id, status: 'success' }])
  t.equal(new Set(all.seen.map(({ id, status }) => `${id} ${status}`)).size, all.seen.length, 'nothing twice')
  const { executions } = await gateway.invoke(listExecutions, { limit: 31 }, { transport: 'cli', signal })
  t.ok(
    executions.every(({ id, status }) => all.seen.some(one => one.id === id && one.status === status)),
    'nothing missed'
  )
})

t.test('a search that had to be answered by words alone tells so, and how many tools are embedded, to those who watch', async t => {
  const half = definePlugin({
    name: 'half', slot: 'search',
    setup: () => ({
      async index () {},
      search: async () => ({ mode: 'lexical', results: [] }),
      state: () => ({ mode: 'lexical', model: 'indexing', indexed: 3, total: 10 })
    })
  })
  const memory = async () => await import('../../plugins/storage-memory/index.ts')
  const builtin: BuiltinPlugins = {
    storage: memory,
    scratch: memory,
    search: async () => ({ default: half }),
    executors: [],
    skills: [],
    agent: async () => ({ default: half }),
    endpoints: [],
    transports: [],
    sections: async () => ({ builtinSections: [] })
  }
  for (const watched of [true, false]) {
    const said: string[] = []
    const terminal: Terminal = {
      ...processTerminal(), env: { HOME: t.testdir(), CI: '1' }, watched, out () {}, err: text => { said.push(text) }
    }
    const command = new Command()
    searchCommand(command, {
      terminal, signal: new AbortController().signal, builtin, schema: configSchema([]), setStatus () {}
    })
    await command.parseAsync(['anything'], { from: 'user' })
    t.match(said.join(''), watched ? /by words alone: 3 of 10 tools are embedded/ : /^$/)
  }
})
