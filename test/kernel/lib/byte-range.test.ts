import fc from 'fast-check'
import t from 'tap'
import { readRange } from '../../../kernel/index.ts'

t.test('ranges are read as RFC 9110 writes them', async t => {
  t.same(readRange('0-499', 1000), { from: 0, to: 500 })
  t.same(readRange('500-', 1000), { from: 500, to: 1000 })
  t.same(readRange('-500', 1000), { from: 500, to: 1000 })
  t.same(readRange('-5000', 1000), { from: 0, to: 1000 }, 'the last 5000 of 1000 are all')
  t.same(readRange('999-5000', 1000), { from: 999, to: 1000 })
  for (const beyond of ['1000-', '1000-1001', '-0']) t.equal(readRange(beyond, 1000), undefined, beyond)
  t.equal(readRange('0-', 0), undefined, 'nothing has no byte')
  for (const text of ['', '-', '5-4', 'a-b', '1-2-3', '0x1-2', ' 1-2', '1', `${'9'.repeat(20)}-`]) {
    t.equal(readRange(text, 1000), 'invalid', text)
  }
})

t.test('whatever the text, a range is within the bytes', async t => {
  const text = fc.oneof(fc.string({ maxLength: 12 }), fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => `${a}-${b}`))
  fc.assert(fc.property(text, fc.nat({ max: 2_000 }), (text, bytes) => {
    const range = readRange(text, bytes)
    if (range === undefined || range === 'invalid') return
    if (range.from < 0 || range.from >= range.to || range.to > bytes) throw new Error(JSON.stringify(range))
  }))
  t.pass()
})
