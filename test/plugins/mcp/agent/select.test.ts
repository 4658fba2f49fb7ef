import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { completeConfig, configSchema, silentLogger, type JsonObject } from '../../../../kernel/index.ts'
import { callableFor } from '../../../../plugins/mcp/agent/agent-tool.ts'
import { Selections } from '../../../../kernel/lib/select/selections.ts'
import type { Selecting, Selection } from '../../../../kernel/lib/select/selection.ts'
import { Host } from '../../../../plugins/mcp/server/host.ts'
import { mcpSection } from '../../../../plugins/mcp/settings.ts'
import { below, runs } from '../../../support/processes.ts'
import { startKernel } from '../../../support/kernel.ts'
import { until } from '../../../../plugins/testing/until.ts'

const selections = new Selections()
t.teardown(() => selections.close())
const select = (asked: Selecting, time_ms?: number): Promise<Selection> => selections.select(asked, time_ms)

const piped = (step: string, count: number): string => Array.from({ length: count }, () => step).join('|')

/**
 * Expressions that make much out of little, each in a way of its own: of the four marked ones each ended a process
 * whose thread it ran in, whatever the thread's limits.
 */
const greedy: Record<string, [text: string, jmespath: string]> = {
  'shared elements': ['[1]', piped('[@,@]', 60)],
  'shared fields': ['{}', piped('{a:@,b:@}', 50)],
  'elements': ['[1]', piped('[@,@][]', 28)],
  'elements in fours (1)': ['[1,2,3,4]', piped('[@,@,@,@][]', 14)],
  'a long text': ['"a"', 'pad_left(@, `400000000`)'],
  'long texts': ['"a"', `[${Array.from({ length: 20 }, () => 'pad_left(@, `500000000`)').join(',')}]`],
  'a long text, reversed (2)': ['"a"', 'reverse(pad_left(@, `200000000`))'],
  'letters (3)': ['"a"', 'split(pad_left(@, `30000000`), \'\')'],
  'a text joined with itself': ['["aaaaaaaaaaaaaaaa"]', piped('[join(\'\',[@[0],@[0]])]', 30)],
  'a text replaced (4)': [`"${'a'.repeat(24)}"`, piped('replace(@, \'a\', \'aaaaaaaaaa\')', 9)],
  'many texts': ['[1]', `${piped('[@,@][]', 22)}|map(&pad_left(to_string(@), \`1000\`), @)`]
}

const failed = (selection: Selection): string => 'failure' in selection ? selection.failure : ''

/** On a busy machine some need longer for their memory than a selection has. */
const patience_ms = 120_000

t.test('greedy expressions are ended, and harm nobody', async t => {
  for (const [name, [text, jmespath]] of Object.entries(greedy)) {
    const [selection, other] = await Promise.all([
      select({ text, jmespath }, patience_ms), select({ text: '{"a":[1,2]}', jmespath: 'a[1]' }, patience_ms)
    ])
    t.match(failed(selection), /^(nothing was selected: it (took more than 256 MiB of memory|is longer than)|jmespath was not applied: )/, name)
    t.same(other, { text: '2' }, 'one beside it is answered')
  }
})

t.test('an expression that takes too long is ended', async t => {
  const text = JSON.stringify(Array.from({ length: 150_000 }, (_, i) => i))
  t.equal(
    failed(await select({ text, jmespath: 'length([?contains($, to_string(@))])' }, 500)),
    'nothing was selected: it took longer than 500 ms'
  )
})

t.test('what is not valid is told by name, before there is a text', async t => {
  t.match(await select({ grep: '(' }), { invalid: /^grep is not valid: / })
  t.match(await select({ grep: 'a', jmespath: '[' }), { invalid: /^jmespath is not valid: / })
  t.same(await select({ grep: 'a', jmespath: 'a' }), { text: '' })
})

t.test('processes are kept, are few, and a quiet one keeps nobody', async t => {
  const processes = (): number[] => below(process.pid)
  const ask = (): Promise<Selection> => select({ text: 'one\ntwo', grep: 'w' })
  t.same(await ask(), { text: 'two' })
  const before = processes()
  t.same(await Promise.all(Array.from({ length: 50 }, ask)), Array.from({ length: 50 }, () => ({ text: 'two' })))
  const [kept = 0, ...more] = processes()
  t.ok(before.includes(kept) && more.length <= 1)
  process.kill(kept, 'SIGKILL')
  await until(() => !processes().includes(kept))
  t.same(await ask(), { text: 'two' }, 'one that died is replaced')
})

t.test('a message that is not as it should be ends its process, and fails that selection alone', async t => {
  const answer = { selection: { text: 'two' }, spent: false }
  const messages: Record<string, string> = {
    'no JSON': 'garbage', 'half of JSON': '{"selection":', null: 'null', 'nothing of it': '{}',
    'another kind': JSON.stringify({ ...answer, selection: { texts: 'a' } }),
    'no text': JSON.stringify({ ...answer, selection: { text: 5 } }),
    'two kinds': JSON.stringify({ ...answer, selection: { text: 'a', failure: 'b' } }),
    'no word on its memory': JSON.stringify({ selection: answer.selection }),
    'too long': JSON.stringify({ ...answer, selection: { text: 'x'.repeat(3_000_000) } }),
    'two at once': `${JSON.stringify(answer)}\n${JSON.stringify(answer)}`, 'without end': 'x'.repeat(20_000_000)
  }
  const program = join(t.testdir(), 'says.mjs')
  for (const [name, message] of Object.entries(messages)) {
    // The first process says that, whatever it is asked; those after it are as they should be.
    await writeFile(program, `import { Socket } from 'node:net'
import { existsSync, writeFileSync } from 'node:fs'
const channel = new Socket({ fd: 3 })
const again = existsSync(${JSON.stringify(`${program}.${name}`)})
writeFileSync(${JSON.stringify(`${program}.${name}`)}, '')
channel.on('data', () => channel.write((again ? ${JSON.stringify(JSON.stringify(answer))} : ${JSON.stringify(message)}) + '\\n')).on('end', () => process.exit()).on('error', () => {})`)
    const selections = new Selections(undefined, program)
    const before = below(process.pid)
    t.equal(
      failed(await selections.select({ text: 'a', grep: 'a' })),
      'nothing was selected: its process said something that is not understood',
      name
    )
    t.same(await selections.select({ text: 'a', grep: 'a' }), { text: 'two' }, 'the next one has another process')
    await until(() => below(process.pid).filter(pid => !before.includes(pid)).length === 1)
    await selections.close()
  }
})

t.test('no process is left when the protocol is closed, nor one that still selects', async t => {
  const before = below(process.pid)
  const own = (): number[] => below(process.pid).filter(pid => !before.includes(pid))
  const { kernel, close } = await startKernel({
    tools: { numbers: { run: () => JSON.stringify(Array.from({ length: 150_000 }, (_, i) => i)) } }
  })
  t.teardown(close)
  const host = new Host(kernel.gateway, completeConfig({}, configSchema([mcpSection])), silentLogger)
  const agent = host.tools.find(({ name }) => name === 'execute')
  if (agent === undefined) throw new Error('execute is a tool of agents')
  const call = { transport: 'mcp', signal: new AbortController().signal, client: {}, spoken: () => false }
  const ask = (more: JsonObject): Promise<JsonObject> =>
    kernel.gateway.invoke(callableFor(agent, call), { skill_name: 'subject', tool_name: 'numbers', ...more }, call)
  await ask({ grep: '7' })
  const kept = own()
  t.equal(kept.length, 1)
  const waiting = ask({ jmespath: 'length([?contains($, to_string(@))])' })
  await ask({ grep: '7' }) // the one that is kept is busy by now, or this one is asked second
  const processes = own()
  await host.close()
  t.same(await Promise.all(processes.map(runs)), processes.map(() => false))
  t.match(await waiting, { note: 'nothing was selected: the server is stopping' })
  t.match(await selections.select({ text: 'a', grep: 'a' }), { text: 'a' }, 'those of others go on')
})
