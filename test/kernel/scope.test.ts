import t from 'tap'
import { Scope } from '../../kernel/scope.ts'

t.test('disposers run last in, first out, each to its end, once', async t => {
  const scope = new Scope()
  const seen: string[] = []
  scope.defer(() => { seen.push('first') })
  scope.defer(async () => {
    await new Promise(resolve => setImmediate(resolve))
    seen.push('second')
  })
  scope.defer(() => { seen.push('third') })
  await Promise.all([scope.close(), scope.close()])
  await scope.close()
  t.same(seen, ['third', 'second', 'first'])
})

t.test('one that fails does not keep the others from running', async t => {
  const scope = new Scope()
  const seen: number[] = []
  scope.defer(() => { seen.push(1) })
  scope.defer(() => { throw new Error('sync') })
  scope.defer(async () => { throw new Error('async') })
  scope.defer(() => { seen.push(4) })
  const error: unknown = await scope.close().catch((thrown: unknown) => thrown)
  t.type(error, AggregateError)
  t.same((error as AggregateError).errors.map((inner: Error) => inner.message), ['async', 'sync'])
  t.same(seen, [4, 1])
})

t.test('what is acquired after the close is undone at once', async t => {
  const scope = new Scope()
  await scope.close()
  let undone = false
  scope.defer(() => { undone = true })
  await scope.close()
  t.ok(undone)
})
