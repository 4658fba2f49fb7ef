import t from 'tap'
import { Scope } from '../../../kernel/lib/scope.ts'
import { until } from '../../../plugins/testing/until.ts'

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

t.test('a disposer that is registered late and fails is reported, and ends nothing', async t => {
  const unhandled: unknown[] = []
  const hear = (error: unknown): void => { unhandled.push(error) }
  process.on('unhandledRejection', hear)
  t.teardown(() => { process.off('unhandledRejection', hear) })
  const reported: unknown[] = []
  const scope = new Scope(error => { reported.push(error) })
  scope.defer(() => { throw new Error('in time') })
  const messagesOf = (error: unknown): string[] => (error as AggregateError).errors.map((inner: Error) => inner.message)
  t.same(messagesOf(await scope.close().catch((error: unknown) => error)), ['in time'])
  const undone: string[] = []
  scope.defer(() => { throw new Error('late') })
  scope.defer(async () => { throw new Error('later') })
  scope.defer(() => { undone.push('last') })
  // Node reports a rejection that nobody handles when the microtasks of its turn are done.
  await until(() => undone.length === 1)
  await new Promise(resolve => setImmediate(resolve))
  t.same(unhandled, [], 'no rejection is left unhandled')
  t.same(reported.map(error => (error as Error).message), ['late', 'later'], 'each failure is reported')
  t.same(
    messagesOf(await scope.close().catch((error: unknown) => error)),
    ['in time', 'late', 'later'],
    'and whoever closes again learns of all'
  )
})

t.test('what is acquired after the close is undone at once', async t => {
  const scope = new Scope()
  await scope.close()
  let undone = false
  scope.defer(() => { undone = true })
  await scope.close()
  t.ok(undone)
})
