import t from 'tap'
import type { Question } from '../../../kernel/index.ts'
import { terminalQuestions } from '../../../plugins/cli/terminal/questions.ts'
import type { Terminal } from '../../../plugins/cli/terminal/terminal.ts'

const form: Question = {
  kind: 'form', message: 'Who\u001b[2J are you?',
  schema: { type: 'object', required: ['name', 'age'], properties: {
    name: { type: 'string', description: 'Your name' }, age: { type: 'integer' },
    color: { type: 'string', enum: ['red', 'blue'], default: 'red' }, well: { type: 'boolean' },
      note: { type: 'string' }
  } }
}

/** Asks at a terminal where these lines are typed. */
async function typed (lines: readonly string[], question: Question): Promise<{ answer: unknown, shown: string,
  pauses: number }> {
  const left = [...lines]
  let shown = ''
  let pauses = 0
  const terminal: Pick<Terminal, 'ask' | 'err'> = {
    err: text => { shown += text },
    ask: async text => { shown += text; return left.shift() }
  }
  const handler = terminalQuestions(terminal, () => { pauses++; return () => { pauses-- } })
  const answer = await handler.ask(question, new AbortController().signal)
  return { answer, shown, pauses }
}

t.test('a form is filled in line by line, and what does not fit is asked again', async t => {
  const { answer, shown, pauses } = await typed(['y', 'Ada', 'many', '36', 'green', 'blue', 'yes', ''], form)
  t.same(answer, { action: 'accept', content: { name: 'Ada', age: 36, color: 'blue', well: true } })
  t.notOk(shown.includes('\u001b'), 'a tool can\'t move the cursor')
  t.equal(pauses, 0)
  t.match((await typed(['y', 'Ada', '36', '', '', ''], form)).answer, { content: { color: 'red' } },
    'the default counts')
})

t.test('a user may decline, and leave out what is required', async t => {
  t.same((await typed(['n'], form)).answer, { action: 'decline' })
  t.same((await typed(['y', '', '', ''], form)).answer, { action: 'cancel' })
  const link: Question = { kind: 'link', message: 'Sign in', url: 'https://example.org/x' }
  t.same((await typed(['y'], link)).answer, { action: 'accept' })
  t.match((await typed([''], link)), { answer: { action: 'decline' }, shown: /https:\/\/example\.org\/x/ })
})

t.test('without a terminal, and for other questions, there is no answer', async t => {
  await t.rejects(typed([], form), { message: /standard input is no terminal/ })
  await t.rejects(typed(['y'], { kind: 'roots' }), { message: /at a terminal/ })
})
