import t from 'tap'
import {
  cancelExecution, execute, getExecution, listExecutions, retryExecution, SkilletError, type Call,
  type ConcurrencyRule, type Execution, type JsonObject, type Kernel
} from '../../../kernel/index.ts'
import { until } from '../../../plugins/testing/until.ts'
import { startKernel, type TestKernelOptions } from '../../support/kernel.ts'

const signal = new AbortController().signal
const call: Call = { transport: 'http', signal }
type Result = { execution_id: string, status: string, output: string }
type Record = Execution & { waiting_for?: string }

interface Started {
  kernel: Kernel
  /** Who began, in order. */
  began: unknown[]
  /** Lets the run of somebody end. */
  letGo (who: string): void
  hold (who: string, repository: string, more?: JsonObject): Promise<Result>
  get (id: string, more?: JsonObject): Promise<Record>
  close (): Promise<void>
}

/** A kernel with a tool that holds each run until it is let go. */
async function start (rule: Partial<ConcurrencyRule>, options: TestKernelOptions = {}): Promise<Started> {
  const began: unknown[] = []
  const ends = new Map<unknown, () => void>()
  const concurrency: ConcurrencyRule = { key: '{{repository}}', limit: 1, when_full: 'wait', ...rule }
  const { kernel, close } = await startKernel({
    tools: {
      hold: {
        concurrency,
        parameters: [{ name: 'who' }, { name: 'repository' }],
        run: ({ who }, { signal }) => new Promise(resolve => {
          began.push(who)
          ends.set(who, () => { resolve(`held ${String(who)}`) })
          signal.addEventListener('abort', () => { resolve('aborted') })
        })
      }
    },
    ...options
  })
  const request = (who: string, repository: string, more: JsonObject): JsonObject =>
    ({ skill_name: 'subject', tool_name: 'hold', parameters: { who, repository }, ...more })
  return {
    kernel, began, close,
    letGo: who => { ends.get(who)?.() },
    hold: (who, repository, more = {}) => kernel.gateway.invoke(execute, request(who, repository, more), call),
    get: (id, more = {}) => kernel.gateway.invoke(getExecution, { id, ...more }, call)
  }
}

t.test('runs with one key wait for each other in order, however they are called; others go on', async t => {
  const { kernel, began, letGo, hold, get, close } = await start({ limit: 2 }, {
    config: { execution: { asynchronous_max: 3 } }
  })
  t.teardown(close)
  const asynchronous = true
  const first = hold('first', 'a')
  const { execution_id: second } = await hold('second', 'a', { asynchronous })
  await until(() => began.length === 2)
  const { execution_id: third } = await hold('third', 'a', { asynchronous, priority: 10 })
  const fourth = hold('fourth', 'a')
  const fifth = hold('fifth', 'a', { idempotency_key: 'five' })
  const elsewhere = hold('elsewhere', 'b')
  await until(() => began.includes('elsewhere'))
  t.same(began, ['first', 'second', 'elsewhere'])
  t.match(await get(third), {
    status: 'queued', concurrency: { key: 'a', limit: 2, waited_ms: undefined },
    waiting_for: '2 executions of subject:hold with the concurrency key "a" run, and 2 may at once; 0 start before this one'
  })
  letGo('second')
  await until(() => began.includes('third'))
  t.same(began.slice(3), ['third'], 'one place, one start')
  letGo('first')
  await until(() => began.includes('fourth'))
  t.equal(typeof (await get((await first).execution_id)).concurrency?.waited_ms, 'undefined', 'it did not wait')
  const { concurrency, queue } = await get(third)
  t.ok((concurrency?.waited_ms ?? -1) >= 0, 'the record says that it waited')
  t.type(queue?.handed_over_at, 'string')
  letGo('third')
  await until(() => began.includes('fifth'))
  for (const who of ['fourth', 'fifth', 'elsewhere']) letGo(who)
  t.match(await Promise.all([fourth, fifth, elsewhere]), [{}, {}, {}].map(() => ({ status: 'success' })))
  t.equal((await get(second)).status, 'success')
  const again = kernel.gateway.invoke(retryExecution, { id: second, parameters: { who: 'again' } }, call)
  await until(() => began.includes('again'))
  const { execution_id: next } = await hold('next', 'a', { asynchronous })
  await hold('last', 'a', { asynchronous })
  t.notOk(began.includes('last'), 'one that is repeated counts, too')
  await until(() => began.includes('next'))
  for (const who of ['again', 'next']) letGo(who)
  await Promise.all([again, get(next, { wait: 60 })])
  await until(() => began.includes('last'))
  letGo('last')
})

t.test('one that waits is cancelled, expires, and gives its turn away', async t => {
  const { kernel, began, letGo, hold, get, close } = await start({}, { config: { execution: { queue_ms_max: 1_000 } } })
  t.teardown(close)
  const asynchronous = true
  const first = hold('first', 'a')
  const leaving = new AbortController()
  const parameters = { who: 'leaves', repository: 'a' }
  const leaves = kernel.gateway.invoke(
    execute, { skill_name: 'subject', tool_name: 'hold', parameters }, { ...call, signal: leaving.signal })
  const { execution_id: cancelled } = await hold('cancelled', 'a', { asynchronous })
  const { execution_id: expired } = await hold('expired', 'a', { asynchronous, queue_ms: 1 })
  const { execution_id: last } = await hold('last', 'a', { asynchronous })
  leaving.abort()
  await t.rejects(leaves, { code: 'CANCELLED' })
  await kernel.gateway.invoke(cancelExecution, { id: cancelled }, call)
  t.match(await get(expired, { wait: 60 }), { status: 'timeout', started_at: null })
  letGo('first')
  await first
  await until(() => began.includes('last'))
  t.same(began, ['first', 'last'])
  await t.rejects(hold('impatient', 'a'), { code: 'TIMEOUT', message: /did not start in the time/ })
  letGo('last')
  t.match(await get(last, { wait: 60 }), { status: 'success' })
})

t.test('one too many is refused before it exists, by name; a repeated request is not one more', async t => {
  const { kernel, began, letGo, hold, close } = await start({ when_full: 'refuse' })
  t.teardown(close)
  const idempotency_key = 'once'
  const first = hold('first', 'a', { idempotency_key })
  const meanwhile = { code: 'OVERLOADED', message: /1 execution of subject:hold with the same {{repository}} runs/ }
  await t.rejects(hold('second', 'a'), meanwhile)
  await t.rejects(hold('second', 'a', { asynchronous: true }), meanwhile)
  await t.rejects(hold('second', 'a', { idempotency_key: 'twice' }), meanwhile)
  const same = hold('first', 'a', { idempotency_key })
  await until(() => began.length === 1)
  letGo('first')
  t.same(await first, await same)
  t.equal(began.length, 1)
  t.match(await kernel.gateway.invoke(listExecutions, {}, call), { total: 1 }, 'what was refused is nowhere')
  const after = hold('after', 'a')
  await until(() => began.includes('after'))
  letGo('after')
  await after
})

t.test('the newest takes the place of the oldest, whether that runs or waits', async t => {
  const { began, letGo, hold, get, close } = await start({ when_full: 'cancel_oldest' })
  t.teardown(close)
  const asynchronous = true
  const first = hold('first', 'a')
  await until(() => began.length === 1)
  const { execution_id: second } = await hold('second', 'a', { asynchronous })
  const details = { superseded_by: second }
  await t.rejects(first, { code: 'CANCELLED', message: /a newer one took its place/, details })
  await until(() => began.includes('second'))
  // The answer to a run that has ended already is its end.
  const idOf = (error: unknown): string => error instanceof SkilletError ? String(error.details['execution_id']) : ''
  const burst = await Promise.all(Array.from({ length: 20 }, async (_, n) =>
    await hold(`burst ${n}`, 'a', { asynchronous }).then(({ execution_id }) => execution_id, idOf)))
  const ends = await Promise.all(burst.slice(0, -1).map(id => get(id, { wait: 60 })))
  t.same(new Set(ends.map(({ status }) => status)), new Set(['cancelled']))
  t.equal((await get(second)).status, 'cancelled')
  await until(() => began.includes('burst 19'))
  letGo('burst 19')
  t.match(await get(burst.at(-1) ?? '', { wait: 60 }), { status: 'success', output: 'held burst 19' })
})

t.test('a stop ends those that wait', async t => {
  const { kernel, began, hold, get, close } = await start({}, { config: { execution: { drain_ms: 0 } } })
  const first = hold('first', 'a')
  await until(() => began.length === 1)
  const waits = hold('waits', 'a')
  const { execution_id: left } = await hold('left', 'a', { asynchronous: true })
  t.match(await get(left), { status: 'queued', waiting_for: /1 start before this one/ })
  const stopped = kernel.stop()
  for (const ended of [first, waits]) await t.rejects(ended, { code: 'INTERRUPTED' })
  await stopped
  await close()
  t.same(began, ['first'])
})
