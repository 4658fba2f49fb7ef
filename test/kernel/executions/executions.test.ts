import t from 'tap'
import {
  cancelExecution, execute, getExecution, listExecutions, SkilletError, thisProcess, type Call, type Execution,
  type Kernel, type Storage
} from '../../../kernel/index.ts'
import storageMemory from '../../../plugins/storage-memory/index.ts'
import { overriding, startKernel, type TestKernelOptions } from '../../support/kernel.ts'
import { until } from '../../../plugins/testing/until.ts'

const never = new AbortController().signal
const call = (signal = never): Call => ({ transport: 'cli', signal })
const wait = (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> =>
  new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('told to end')) }) })

const tools: NonNullable<TestKernelOptions['tools']> = {
  echo: { run: ({ text }) => text, parameters: [{ name: 'text', required: true }] },
  defaults: {
    run: parameters => parameters,
    parameters: [{ name: 'count', type: 'integer', default: 20, minimum: 1 }, { name: 'who' }]
  },
  fail: { run: () => { throw new Error('out of luck') } },
  hang: { run: wait },
  brief: { run: wait, timeout_ms: 20 },
  secret: {
    run: ({ key }) => `key of ${String(key).length}`,
    parameters: [{ name: 'key', required: true }],
    secrets: ['key']
  }
}

/** A kernel whose storage the test can see. */
async function start (
  options: TestKernelOptions = {}
): Promise<{ kernel: Kernel, storage: Storage, close: () => Promise<void> }> {
  let storage: Storage | undefined
  const seen = { ...storageMemory, async setup (...args: Parameters<typeof storageMemory.setup>) { return storage =
    await storageMemory.setup(...args) } }
  const started = await startKernel({ tools, storage: seen, ...options })
  if (storage === undefined) throw new Error('no storage')
  return { ...started, storage }
}

const run = (
  kernel: Kernel, tool_name: string, parameters = {}, more = {}, signal = never
): Promise<{ execution_id: string, status: string, output: string, duration_ms: number }> =>
  kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name, parameters, ...more }, call(signal))

t.test('a success is answered and recorded, with every transition on the bus in order', async t => {
  const { kernel, close } = await start()
  t.teardown(close)
  const heard: string[] = []
  kernel.gateway.bus.on('transition', ({ execution_id, status }) => { heard.push(`${execution_id} ${status}`) })
  const accepted = (id: string): void => { heard.push(`${id} accepted`) }
  const result = await kernel.gateway.invoke(
    execute, { skill_name: 'subject', tool_name: 'echo', parameters: { text: 'hé' } }, { ...call(), accepted }
  )
  t.match(result, { execution_id: /^[0-9a-f-]{36}$/, status: 'success', output: 'hé', duration_ms: Number })
  const id = result.execution_id
  t.same(heard, ['accepted', 'queued', 'running', 'success'].map(status => `${id} ${status}`))
  const record = await kernel.gateway.invoke(getExecution, { id }, call())
  t.match(record, {
    id, skill_name: 'subject', tool_name: 'echo', runtime: 'inline', status: 'success', parameters: { text: 'hé' },
    output: 'hé', output_truncated: false,
    error: null, transport: 'cli', isolation: 'none', key: null,
    transitions: [{ status: 'queued' }, { status: 'running' }, { status: 'success' }]
  })
  t.ok(record.created_at <= String(record.started_at) && String(record.started_at) <= String(record.finished_at))
  t.match(await kernel.gateway.invoke(listExecutions, {}, call()), {
    total: 1,
    executions: [{ id, status: 'success' }]
  })
})

t.test('whoever hears of an execution can cancel it in the same turn', async t => {
  const { kernel, close } = await start()
  t.teardown(close)
  let cancelling: Promise<Execution> | undefined
  const accepted = (id: string): void => { cancelling = kernel.gateway.invoke(cancelExecution, { id }, call()) }
  await t.rejects(
    kernel.gateway.invoke(
      execute, { skill_name: 'subject', tool_name: 'hang', parameters: {} }, { ...call(), accepted }
    ),
    { code: 'CANCELLED' }
  )
  t.match(await cancelling, { status: 'cancelled' })
})

t.test('a caller that throws when it hears the id changes nothing', async t => {
  const { kernel, close } = await start()
  t.teardown(close)
  const accepted = (): void => { throw new Error('a fault of the caller') }
  const { execution_id } = await kernel.gateway.invoke(
    execute, { skill_name: 'subject', tool_name: 'echo', parameters: { text: 'hé' } }, { ...call(), accepted }
  )
  t.match(await kernel.gateway.invoke(getExecution, { id: execution_id }, call()), { status: 'success' })
  t.match(await kernel.gateway.invoke(listExecutions, {}, call()), { total: 1 })
})

t.test('each failure has its code, its details and its record', async t => {
  const { kernel, close } = await start()
  t.teardown(close)
  const cases: [string, object, object, object][] = [
    [
      'fail',
      {},
      {},
      { code: 'TOOL_EXECUTION_FAILED', message: 'out of luck', details: { skill: 'subject', tool: 'fail' } }
    ],
    ['brief', {}, {}, { code: 'TIMEOUT', details: { skill: 'subject', tool: 'brief', timeout_ms: 20 } }],
    ['hang', {}, { timeout_ms: 30 }, { code: 'TIMEOUT', details: { timeout_ms: 30 } }]
  ]
  for (const [tool, parameters, more, expected] of cases) {
    const error: unknown = await run(kernel, tool, parameters, more).catch((thrown: unknown) => thrown)
    t.match(error, expected)
    const { execution_id } = (error as { details: { execution_id: string } }).details
    const record = await kernel.gateway.invoke(getExecution, { id: execution_id }, call())
    t.match(record.error, expected)
    t.equal(record.status, tool === 'fail' ? 'failed' : 'timeout')
  }
})

t.test('a request that is refused makes no execution', async t => {
  const { kernel, close } = await start({ config: { execution: { queue_max: 1, timeout_ms_max: 40_000 } } })
  t.teardown(close)
  const refused = async (input: object, expected: { code: string, message?: RegExp | string }): Promise<void> => {
    await t.rejects(kernel.gateway.invoke(execute, input, call()), expected, JSON.stringify(input))
  }
  const base = { skill_name: 'subject', tool_name: 'echo', parameters: { text: 'x' } }
  await refused({ ...base, skill_name: 'subjet' }, { code: 'SKILL_NOT_FOUND', message: /did you mean "subject"/ })
  await refused({ ...base, skill_name: '__proto__' }, { code: 'SKILL_NOT_FOUND' })
  await refused({ ...base, skill_name: 'constructor' }, { code: 'SKILL_NOT_FOUND' })
  await refused({ ...base, tool_name: 'ecko' }, { code: 'TOOL_NOT_FOUND', message: /did you mean "echo"/ })
  await refused({ ...base, tool_name: 'toString' }, { code: 'TOOL_NOT_FOUND' })
  await refused(
    { ...base, parameters: {} },
    { code: 'INVALID_PARAMETERS', message: 'parameters must have the field "text"' }
  )
  await refused(
    { ...base, parameters: { text: 5 } },
    { code: 'INVALID_PARAMETERS', message: 'parameters/text must be string' }
  )
  await refused(
    { ...base, parameters: { text: 'x', txet: 'y' } },
    { code: 'INVALID_PARAMETERS', message: /unknown field "txet"; did you mean "text"/ }
  )
  await refused(
    { skill_name: 'subject', tool_name: 'echo' },
    { code: 'INVALID_PARAMETERS', message: 'parameters must have the field "text"' }
  )
  await refused(
    { ...base, tool_name: 'defaults', parameters: { count: 0 } },
    { code: 'INVALID_PARAMETERS', message: 'parameters/count must be >= 1' }
  )
  await refused({ ...base, extra: 1 }, { code: 'INVALID_PARAMETERS', message: /unknown field "extra"/ })
  await refused({ ...base, timeout_ms: 40_001 }, { code: 'INVALID_PARAMETERS', message: /timeout_ms must be <= 40000/ })
  t.equal((await kernel.gateway.invoke(listExecutions, {}, call())).total, 0)
  t.match(await run(kernel, 'defaults', {}), { output: '{"count":20}' }, 'defaults are filled in')
})

t.test('a full queue refuses at once', async t => {
  const { kernel, close } = await start({ config: { execution: { queue_max: 2, drain_ms: 0 } } })
  t.teardown(close)
  const abort = new AbortController()
  // The inline executor runs 64 at once; two more wait.
  const runs: Promise<unknown>[] = []
  while (runs.length < 66) {
    runs.push(run(kernel, 'hang', {}, {}, AbortSignal.any([abort.signal])))
    await new Promise(resolve => setImmediate(resolve))
  }
  await t.rejects(run(kernel, 'echo', { text: 'x' }), { code: 'OVERLOADED', message: /queue_max/ })
  abort.abort()
  const ended = await Promise.allSettled(runs)
  t.ok(ended.every(result => result.status === 'rejected' && result.reason.code === 'CANCELLED'))
  t.match(await run(kernel, 'echo', { text: 'again' }), { output: 'again' })
})

t.test('a caller that goes away cancels; cancel ends a running one, and conflicts with an ended one', async t => {
  const { kernel, close } = await start()
  t.teardown(close)
  const gone = new AbortController()
  const left = run(kernel, 'hang', {}, {}, gone.signal)
  gone.abort()
  await t.rejects(left, { code: 'CANCELLED' })
  await t.rejects(run(kernel, 'hang', {}, {}, AbortSignal.abort()), { code: 'CANCELLED' }, 'even before it began')

  let id = ''
  const stop = kernel.gateway.bus.on('transition', event => { if (event.status === 'running') id = event.execution_id })
  const running = run(kernel, 'hang')
  await until(() => id !== '')
  stop()
  const refused = t.rejects(running, { code: 'CANCELLED', details: { execution_id: id } })
  t.match(await kernel.gateway.invoke(cancelExecution, { id }, call()), {
    id, status: 'cancelled', error: { code: 'CANCELLED' }
  })
  await refused
  await t.rejects(kernel.gateway.invoke(cancelExecution, { id }, call()), {
    code: 'CONFLICT',
    details: { status: 'cancelled' }
  })
  await t.rejects(kernel.gateway.invoke(cancelExecution, { id: 'nonsense' }, call()), { code: 'EXECUTION_NOT_FOUND' })
  await t.rejects(kernel.gateway.invoke(getExecution, { id: '__proto__' }, call()), { code: 'EXECUTION_NOT_FOUND' })
})

t.test('values of secret parameters are in no record', async t => {
  const { kernel, storage, close } = await start()
  t.teardown(close)
  const { execution_id, output } = await run(kernel, 'secret', { key: 'canary-value' })
  t.equal(output, 'key of 12', 'the tool gets it')
  t.notMatch(JSON.stringify(await storage.get(execution_id)), 'canary')
  t.match((await storage.get(execution_id))?.execution.parameters, { key: '[secret]' })
})

const at = new Date().toISOString() // the history is pruned by age
const unfinished = (id: string): Execution => ({
  id, skill_name: 'subject', tool_name: 'hang', status: 'running', created_at: at, duration_ms: 0, runtime: 'inline',
  started_at: at, finished_at: null, parameters: {}, output: '', output_truncated: false, error: null,
  transitions: [{ status: 'queued', at }, { status: 'running', at }], transport: 'http', isolation: 'none', key: null
})

t.test('what a dead process left is interrupted, what a living one runs is not, and is cancelled through its owner', async t => {
  const dead = { ...thisProcess(), started: 'long ago' }
  const living = { pid: process.ppid, started: '' }
  const { isAlive } = await import('../../../kernel/index.ts')
  t.notOk(isAlive(dead))
  t.ok(isAlive(thisProcess()))
  t.notOk(isAlive(living), 'a process id alone is not the process')

  let storage: Storage | undefined
  const seeded = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      storage = await storageMemory.setup(...args)
      storage.save({ execution: unfinished('of-the-dead'), owner: dead })
      storage.save({ execution: unfinished('of-nobody'), owner: null })
      return storage
    }
  }
  const { kernel, close } = await startKernel({ tools, storage: seeded })
  t.teardown(close)
  const record = await kernel.gateway.invoke(getExecution, { id: 'of-the-dead' }, call())
  t.match(record, { status: 'interrupted', error: { code: 'INTERRUPTED' }, transitions: { length: 3 } })

  // Another process owns it: it lives (it is this one), yet this kernel does not run it.
  storage?.save({ execution: unfinished('elsewhere'), owner: thisProcess() })
  const cancelling = kernel.gateway.invoke(cancelExecution, { id: 'elsewhere' }, call())
  await until(() => storage?.cancelRequests().includes('elsewhere') === true)
  storage?.save({ execution: { ...unfinished('elsewhere'), status: 'cancelled' }, owner: null })
  t.match(await cancelling, { id: 'elsewhere', status: 'cancelled' })
  await until(() => storage?.cancelRequests().length === 0)
})

/**
 * A memory store that holds a run of a dead process, and in which that process still commits a success right after it
 * was found.
 */
async function startRacing (
  found: 'unfinished' | 'get'
): Promise<{ kernel: Kernel, storage: Storage, close: () => Promise<void> }> {
  const dead = { ...thisProcess(), started: 'long ago' }
  let armed = found === 'unfinished'
  let storage: Storage | undefined
  const racing = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const memory = storage = await storageMemory.setup(...args)
      if (found === 'unfinished') memory.save({ execution: unfinished('raced'), owner: dead })
      const ending = async <T>(answer: T): Promise<T> => {
        if (armed) memory.save({ execution: { ...unfinished('raced'), status: 'success' }, owner: null })
        armed = false
        await memory.commit()
        return answer
      }
      return overriding(memory, {
        unfinished: async () => ending(await memory.unfinished()),
        get: async id => ending(await memory.get(id))
      })
    }
  }
  const { kernel, close } = await startKernel({ tools, storage: racing })
  if (storage === undefined) throw new Error('no storage')
  if (found === 'get') {
    storage.save({ execution: unfinished('raced'), owner: dead })
    armed = true
  }
  return { kernel, storage, close }
}

t.test('a success that another process commits meanwhile stays a success, whoever wants to close its record', async t => {
  const recovering = await startRacing('unfinished')
  t.teardown(recovering.close)
  t.match(await recovering.storage.get('raced'), { execution: { status: 'success' }, owner: null })
  const cancelling = await startRacing('get')
  t.teardown(cancelling.close)
  await t.rejects(cancelling.kernel.gateway.invoke(cancelExecution, { id: 'raced' }, call()), {
    code: 'CONFLICT',
    details: { status: 'success' }
  })
  t.match(await cancelling.storage.get('raced'), { execution: { status: 'success' }, owner: null })
})

t.test('a history that can not be written keeps no kernel from starting, and is recovered later', async t => {
  const dead = { ...thisProcess(), started: 'long ago' }
  let storage: Storage | undefined
  let full = true
  const filled = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const memory = storage = await storageMemory.setup(...args)
      memory.save({ execution: unfinished('left'), owner: dead })
      return overriding(memory, {
        endUnfinished: (...args) => full ? Promise.reject(new Error('the disk is full')) : memory.endUnfinished(...args)
      })
    }
  }
  const { close } = await startKernel({ tools, storage: filled })
  t.teardown(close)
  full = false
  await until(async () => (await storage?.get('left'))?.execution.status === 'interrupted')
})

t.test('a request to cancel from another process ends a run of this one', async t => {
  const { kernel, storage, close } = await start()
  t.teardown(close)
  let id = ''
  kernel.gateway.bus.on('transition', event => { if (event.status === 'running') id = event.execution_id })
  const refused = t.rejects(run(kernel, 'hang'), { code: 'CANCELLED' })
  await until(() => id !== '')
  await storage.requestCancel(id)
  await refused
})

t.test('a fault of storage or executor is INTERNAL, says nothing of the inside, and leaves nothing hanging', async t => {
  const failing = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const storage = await storageMemory.setup(...args)
      return overriding(storage, { commit: () => Promise.reject(new Error('/var/secret/path is full')) })
    }
  }
  const { kernel, close } = await startKernel({ tools, storage: failing })
  await t.rejects(run(kernel, 'echo', { text: 'x' }), { code: 'INTERNAL', message: /log says more/ })
  await close()
})

t.test('a short execution is saved once; one that lasts is seen while it runs', async t => {
  const saved: string[] = []
  const counting = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const storage = await storageMemory.setup(...args)
      return overriding(storage, { save (stored) { saved.push(stored.execution.status); storage.save(stored) } })
    }
  }
  const { kernel, close } = await startKernel({ tools, storage: counting })
  t.teardown(close)
  await run(kernel, 'echo', { text: 'warm' })
  // A busy machine may take longer than a short execution does.
  await until(async () => {
    saved.length = 0
    await run(kernel, 'echo', { text: 'x' })
    return saved.length === 1
  })
  t.same(saved, ['success'])
  const abort = new AbortController()
  const running = t.rejects(run(kernel, 'hang', {}, {}, abort.signal), { code: 'CANCELLED' })
  await until(async () => (await kernel.gateway.invoke(listExecutions, { status: 'running' }, call())).total === 1)
  abort.abort()
  await running
  t.equal(saved.at(-1), 'cancelled')
})

t.test('an execution that ended is not saved as unfinished while its commit takes long', async t => {
  let storage: Storage | undefined
  let commits = 0
  const slow = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const memory = storage = await storageMemory.setup(...args)
      return overriding(memory, {
        async commit () { commits++; await new Promise(resolve => { setTimeout(resolve, 100) }) }
      })
    }
  }
  const { kernel, close } = await startKernel({ tools, storage: slow })
  t.teardown(close)
  const { execution_id } = await run(kernel, 'echo', { text: 'a' })
  t.equal(commits, 1)
  t.match(await storage?.get(execution_id), { execution: { status: 'success' }, owner: null })
  t.same(await storage?.unfinished(), [])
})

t.test('what a full storage refuses never began; what it admitted is recorded', async t => {
  let full = false
  const filling = {
    ...storageMemory,
    async setup (...args: Parameters<typeof storageMemory.setup>) {
      const storage = await storageMemory.setup(...args)
      return overriding(storage, { admit () { if (full) throw new SkilletError('OVERLOADED', 'full') } })
    }
  }
  const { kernel, close } = await startKernel({ tools, storage: filling })
  t.teardown(close)
  const abort = new AbortController()
  const running = t.rejects(run(kernel, 'hang', {}, {}, abort.signal), { code: 'CANCELLED' })
  full = true
  await t.rejects(run(kernel, 'echo', { text: 'x' }), { code: 'OVERLOADED' })
  abort.abort()
  await running
  t.match(await kernel.gateway.invoke(listExecutions, {}, call()), { total: 1, executions: [{ status: 'cancelled' }] })
})
