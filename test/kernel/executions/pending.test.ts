import t from 'tap'
import { pendingLimits, recordBytes, refuseTooManyPending } from '../../../kernel/index.ts'
import { makeExecution } from '../../../plugins/testing/executions.ts'

t.test('a record counts with every text in it, two bytes for each character', async t => {
  const text = 'x'.repeat(10_000)
  const least = recordBytes(makeExecution())
  for (const fields of [
    { output: text }, { parameters: { text } }, { parameters: { deep: [[{ [text]: null }]] } },
    { parameters: JSON.parse(`{"__proto__": "${text}"}`) as Record<string, unknown> },
    { error: { code: 'INTERNAL' as const, message: text, details: {} } },
    { error: { code: 'INTERNAL' as const, message: '', details: { stderr: text } } }
  ]) {
    const more = recordBytes(makeExecution(fields)) - least
    t.ok(more > 19_900 && more < 20_200, `${JSON.stringify(fields).slice(0, 40)}: ${more}`)
  }
  t.ok(
    recordBytes(makeExecution({ parameters: { numbers: Array.from({ length: 1_000 }, (_, i) => i) } })) - least > 7_900
  )
})

t.test('what may wait is refused by number and by bytes, and the limit is named', async t => {
  const { executions, bytes } = pendingLimits
  refuseTooManyPending(executions - 1, bytes - 1)
  t.throws(() => { refuseTooManyPending(executions, 0) }, { code: 'OVERLOADED', message: /50000 may/ })
  t.throws(() => { refuseTooManyPending(0, bytes) }, { code: 'OVERLOADED', message: /268435456 bytes may/ })
})
