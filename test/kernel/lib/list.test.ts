import fc from 'fast-check'
import t from 'tap'
import { List, type Listed } from '../../../kernel/lib/list.ts'

class Item implements Listed<Item> {
  readonly number: number
  list: object | undefined
  previous: Item | undefined
  next: Item | undefined

  constructor (number: number) {
    this.number = number
  }
}

t.test('a list does what an array does, and an item that left holds nothing of it', async t => {
  const step = fc.oneof(
    fc.record({ does: fc.constantFrom('push', 'unshift', 'delete'), item: fc.integer({ min: 0, max: 7 }) }),
    fc.record({ does: fc.constantFrom('shift'), item: fc.constant(0) })
  )
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), steps => {
    const items = Array.from({ length: 8 }, (_, number) => new Item(number))
    const list = new List<Item>()
    let model: number[] = []
    for (const { does, item: number } of steps) {
      const item = items[number]
      if (item === undefined) continue
      if (does === 'shift') t.equal(list.shift()?.number, model.shift())
      else if (does === 'delete') {
        t.equal(list.delete(item), model.includes(number))
        model = model.filter(one => one !== number)
      } else if (model.includes(number)) t.throws(() => { list.push(item) }, /one list only/)
      else if (
        does === 'push'
      ) { list.push(item); model.push(number) } else { list.unshift(item); model.unshift(number) }
      t.same([...list].map(one => one.number), model)
      t.same([list.size, list.first?.number], [model.length, model[0]])
      for (const one of items) {
        if (!model.includes(one.number)) {
          t.same([list.has(one), one.list, one.previous, one.next], [false, undefined, undefined, undefined])
        }
      }
    }
  }), { numRuns: 30 })
})

t.test('what is deleted while the list is walked does not end the walk', async t => {
  const list = new List<Item>()
  for (let i = 0; i < 6; i++) list.push(new Item(i))
  const seen: number[] = []
  for (const item of list) {
    seen.push(item.number)
    list.delete(item)
  }
  t.same([seen, list.size], [[0, 1, 2, 3, 4, 5], 0])
})
