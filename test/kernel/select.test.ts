import t from 'tap'
import { select, type Selection } from '../../kernel/select.ts'
import { below } from '../support/processes.ts'
import { until } from '../support/until.ts'

const piped = (step: string, count: number): string => Array.from({ length: count }, () => step).join('|')

/** Expressions that make much out of little, each in a way of its own: of the four marked ones each ended a process whose thread it ran in, whatever the thread's limits. */
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

t.test('greedy expressions are ended, and harm nobody', async t => {
  for (const [name, [text, jmespath]] of Object.entries(greedy)) {
    const [selection, other] = await Promise.all([select({ text, jmespath }), select({ text: '{"a":[1,2]}', jmespath: 'a[1]' })])
    t.match(failed(selection), /^(nothing was selected: it (took more than 256 MiB of memory|is longer than)|jmespath was not applied: )/, name)
    t.same(other, { text: '2' }, 'one beside it is answered')
  }
})

t.test('an expression that takes too long is ended', async t => {
  const text = JSON.stringify(Array.from({ length: 150_000 }, (_, i) => i))
  t.equal(failed(await select({ text, jmespath: 'length([?contains($, to_string(@))])' }, 500)), 'nothing was selected: it took longer than 500 ms')
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
