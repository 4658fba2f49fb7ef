import t from 'tap'
import { newExecutionId } from '../../../kernel/lib/id.ts'

t.test('an id is a UUIDv7 of its moment', async t => {
  const id = newExecutionId(Date.UTC(2040, 0, 1))
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), Date.UTC(2040, 0, 1))
})

t.test('ids are unique and sort in the order of their making, past 4,096 a millisecond and when the clock goes back', async t => {
  const ids = Array.from({ length: 20_000 }, (_, i) => newExecutionId(Date.UTC(2041, 0, 1) - (i % 3)))
  t.equal(new Set(ids).size, ids.length)
  t.same(ids, ids.toSorted())
})
