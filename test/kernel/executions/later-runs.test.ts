import t from 'tap'
import {
  cancelExecution, execute, getExecution, retryExecution, type Call, type Execution, type JsonObject, type Kernel
} from '../../../kernel/index.ts'
import { until } from '../../../plugins/testing/until.ts'
import { startKernel, type TestKernelOptions } from '../../support/kernel.ts'

const signal = new AbortController().signal
const call: Call = { transport: 'http', signal }
type Result = { execution_id: string, status: string, output: string }

const run = (kernel: Kernel, tool_name: string, parameters: JsonObject = {}, more = {}): Promise<Result> =>
  kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name, parameters, ...more }, call)
const get = (kernel: Kernel, id: string, more = {}): Promise<Execution & { waiting_for?: string }> =>
  kernel.gateway.invoke(getExecution, { id, ...more }, call)

/** A kernel with a tool that holds each run until it is let go, and writes down who began. */
async function start (options: TestKernelOptions = {}): Promise<{
  kernel: Kernel, began: unknown[], letGo: () => void, close: () => Promise<void>
}> {
  const began: unknown[] = []
  const held = new Set<() => void>()
  const hold = ({ who }: JsonObject, { signal }: { signal: AbortSignal }): Promise<string> => new Promise(resolve => {
    began.push(who)
    const end = (): void => {
      held.delete(end)
      resolve(`held ${String(who)}`)
    }
    held.add(end)
    signal.addEventListener('abort', end)
  })
  const { kernel, close } = await startKernel({
    tools: {
      hold: { run: hold, parameters: [{ name: 'who' }] },
      secret: { run: () => 'kept', parameters: [{ name: 'word', required: true }], secrets: ['word'] },
      fail: { run: () => { throw new Error('out of luck') } }
    },
    ...options
  })
  return { kernel, began, close, letGo () { for (const end of held) end() } }
}

t.test('an asynchronous run is answered as queued, and waited for by many at once', async t => {
  const { kernel, began, letGo, close } = await start()
  t.teardown(close)
  const { execution_id: id, status } = await run(kernel, 'hold', { who: 'a' }, { asynchronous: true })
  t.equal(status, 'queued')
  await until(() => began.length === 1)
  t.match(await get(kernel, id, { wait: 1 }), { status: 'running' }, 'a wait that is over answers with the record')
  const waits = Array.from({ length: 2_000 }, () => get(kernel, id, { wait: 60 }))
  await until(async () => (await get(kernel, id)).status === 'running')
  letGo()
  for (const execution of await Promise.all(waits)) t.match(execution, { status: 'success', output: 'held a' })
  t.match(await run(kernel, 'fail', {}, { asynchronous: true, wait: 0 }), { status: 'queued' })
  await t.rejects(run(kernel, 'fail', {}, { asynchronous: true, wait: 60 }), { code: 'TOOL_EXECUTION_FAILED' })
})

t.test('refusals come before an asynchronous run exists', async t => {
  const { kernel, close } = await start({ config: { execution: { queue_ms_max: 10_000 } } })
  t.teardown(close)
  const asynchronous = true
  await t.rejects(run(kernel, 'nothing', {}, { asynchronous }), { code: 'TOOL_NOT_FOUND' })
  await t.rejects(run(kernel, 'hold', { who: 5 }, { asynchronous }), { code: 'INVALID_PARAMETERS' })
  await t.rejects(run(kernel, 'hold', {}, { asynchronous, queue_ms: 10_001 }), { message: /queue_ms_max/ })
  await t.rejects(run(kernel, 'hold', {}, { asynchronous, wait: 61 }), { code: 'INVALID_PARAMETERS' })
  await t.rejects(run(kernel, 'hold', {}, { priority: 1 }), { message: /asynchronous/ })
  for (const idempotency_key of ['', 'k'.repeat(256), 'k'.repeat(10_000), 'ü', 'a\nb']) {
    await t.rejects(run(kernel, 'hold', {}, { idempotency_key }), { code: 'INVALID_PARAMETERS' })
  }
})

t.test('the queue has an order, a limit, a reason and an end', async t => {
  const { kernel, began, letGo, close } = await start({
    config: { execution: { asynchronous_max: 1, queue_max: 4, drain_ms: 0 } }
  })
  t.teardown(close)
  const submit = (who: string, more = {}): Promise<Result> =>
    run(kernel, 'hold', { who }, { asynchronous: true, ...more })
  await submit('first')
  await until(() => began.length === 1)
  const { execution_id: late } = await submit('low', { priority: -1 })
  await submit('usual')
  const { execution_id: gone } = await submit('gone')
  const { execution_id: expired } = await submit('expired', { queue_ms: 1 })
  await t.rejects(submit('more'), { code: 'OVERLOADED' })
  t.match((await get(kernel, late)).waiting_for, /execution.asynchronous_max.*3 start before/)
  await kernel.gateway.invoke(cancelExecution, { id: gone }, call)
  t.match(await get(kernel, gone), { status: 'cancelled', started_at: null })
  t.match(await get(kernel, expired, { wait: 60 }), { status: 'timeout', started_at: null, error: { code: 'TIMEOUT' } })
  await submit('high', { priority: 10 })
  for (let count = 2; count <= 4; count++) {
    letGo()
    await until(() => began.length === count)
  }
  t.same(began, ['first', 'high', 'usual', 'low'])
})

t.test('calls with one key are one run, also at once; another request with it is refused', async t => {
  const { kernel, began, letGo, close } = await start()
  t.teardown(close)
  const idempotency_key = 'order 66'
  const runs = Array.from({ length: 20 }, () => run(kernel, 'hold', { who: 'a' }, { idempotency_key }))
  const later = await run(kernel, 'hold', { who: 'a' }, { idempotency_key, asynchronous: true })
  await until(() => began.length > 0)
  letGo()
  const results = await Promise.all(runs)
  t.equal(began.length, 1)
  for (const result of results) t.same(result, results[0])
  t.equal(later.execution_id, results[0]?.execution_id)
  t.same(await run(kernel, 'hold', { who: 'a' }, { idempotency_key }), results[0])
  await t.rejects(run(kernel, 'hold', { who: 'b' }, { idempotency_key }), { code: 'CONFLICT' })
  await t.rejects(run(kernel, 'fail', {}, { idempotency_key }), { code: 'CONFLICT' })
  const access = { key: 'other', scopes: new Set(['read', 'execute'] as const) }
  const input = { skill_name: 'subject', tool_name: 'hold', parameters: { who: 'a' }, idempotency_key }
  const other = kernel.gateway.invoke(execute, input, { ...call, access })
  await until(() => began.length === 2)
  letGo()
  t.not((await other).execution_id, results[0]?.execution_id, 'another caller has keys of its own')
  for (const repeated of [1, 2]) {
    await t.rejects(run(kernel, 'fail', {}, { idempotency_key: 'f' }), { code: 'TOOL_EXECUTION_FAILED' }, `${repeated}`)
  }
})

t.test('an execution is repeated with changed parameters, and names its origin', async t => {
  const { kernel, began, letGo, close } = await start()
  t.teardown(close)
  const { execution_id: id } = await run(kernel, 'hold', { who: 'a' }, { asynchronous: true })
  await until(() => began.length === 1)
  const retry = (id: string, parameters: JsonObject): Promise<Result> =>
    kernel.gateway.invoke(retryExecution, { id, parameters }, call)
  await t.rejects(retry(id, {}), { code: 'CONFLICT' })
  letGo()
  await get(kernel, id, { wait: 60 })
  const again = retry(id, { who: 'b' })
  await until(() => began.length === 2)
  letGo()
  const { execution_id } = await again
  t.match(await get(kernel, execution_id), { origin: id, parameters: { who: 'b' }, output: 'held b' })
  const secret = await run(kernel, 'secret', { word: 'sesame open' })
  await t.rejects(retry(secret.execution_id, {}), { message: /give word again/ })
  t.match(await retry(secret.execution_id, { word: 'sesame' }), { output: 'kept' })
  await t.rejects(retry('nobody', {}), { code: 'EXECUTION_NOT_FOUND' })
})
