import t from 'tap'
import {
  approveExecution, cancelExecution, denyExecution, execute, getExecution, listApprovals, type Access, type AccessScope,
  type Call, type Execution, type JsonObject, type Kernel
} from '../../../kernel/index.ts'
import { matchesText } from '../../../kernel/executions/approvals/match-text.ts'
import { until } from '../../../plugins/testing/until.ts'
import { startKernel, type TestKernelOptions } from '../../support/kernel.ts'

const signal = new AbortController().signal
const access = (key: string, ...scopes: AccessScope[]): Access => ({ key, scopes: new Set(scopes) })
const agent: Call = { transport: 'http', signal, access: access('agent', 'read', 'execute', 'approve') }
const person: Call = { transport: 'http', signal, access: access('alice', 'read', 'approve') }
const terminal: Call = { transport: 'cli', signal }

type Waiting = Awaited<ReturnType<typeof listApprovals.handler>>['approvals'][number]

const run = (kernel: Kernel, tool_name: string, parameters: JsonObject = {}, more = {}, call = agent) =>
  kernel.gateway.invoke(execute, { skill_name: 'subject', tool_name, parameters, ...more }, call)
const get = (kernel: Kernel, id: string): Promise<Execution & { waiting_for?: string }> =>
  kernel.gateway.invoke(getExecution, { id }, terminal)
const waiting = async (kernel: Kernel): Promise<Waiting[]> =>
  (await kernel.gateway.invoke(listApprovals, {}, person)).approvals
const decide = (kernel: Kernel, operation: typeof approveExecution, of: Waiting, call = person, more = {}) =>
  kernel.gateway.invoke(operation, { id: of.execution_id, digest: of.digest, ...more }, call)

/** The next execution that waits. */
async function nextOf (kernel: Kernel): Promise<Waiting> {
  let first: Waiting | undefined
  await until(async () => ([first] = await waiting(kernel), first !== undefined))
  if (first === undefined) throw new Error('nothing waits')
  return first
}

async function start (approvals: JsonObject, options: TestKernelOptions = {}): Promise<Kernel> {
  const { kernel, close } = await startKernel({
    tools: {
      push: { run: ({ branch }) => `pushed ${String(branch)}`, parameters: [{ name: 'branch' }, { name: 'force' }] },
      read: { run: () => 'read' },
      secret: { run: () => 'kept', parameters: [{ name: 'word', required: true }], secrets: ['word'] },
      careful: {
        run: async (_, { approve }) => {
          await approve('would delete 3 files')
          return 'deleted'
        },
        timeout_ms: 300
      }
    },
    config: { approvals },
    ...options
  })
  t.teardown(close)
  return kernel
}

const asks = { rules: [{ action: 'ask', tools: ['subject:push', 'subject:secret'] }] }

t.test('the first rule that fits counts: by tool, key, annotation and parameter', async t => {
  const kernel = await start({
    rules: [
      { action: 'allow', tools: ['subject:push'], parameters: { branch: 'try/*' } },
      { action: 'deny', tools: ['subject:push'], parameters: { branch: 'main' } },
      { action: 'deny', keys: ['', 'stranger'] },
      { action: 'allow', keys: ['agent'], annotations: { read_only: false, destructive: true } },
      { action: 'deny' }
    ]
  })
  t.match(await run(kernel, 'push', { branch: 'try/a/b' }), { output: 'pushed try/a/b' })
  t.match(await run(kernel, 'read'), { output: 'read' }, 'what is not declared counts as dangerous')
  const denied = { code: 'APPROVAL_DENIED' }
  await t.rejects(run(kernel, 'push', { branch: 'main' }), { ...denied, message: /rule 2/ })
  await t.rejects(run(kernel, 'push', { branch: 'main' }, { asynchronous: true }), denied)
  await t.rejects(run(kernel, 'push', { branch: 'main' }, { idempotency_key: 'a' }), denied)
  await t.rejects(run(kernel, 'read', {}, {}, terminal), { ...denied, message: /rule 3/ })
  await t.rejects(run(kernel, 'read', {}, {}, { ...agent, access: access('bob', 'execute') }), { message: /rule 5/ })
  for (const [pattern, text, fits] of [
    ['a*b*c', 'abc', true], ['a*b*c', 'a1b2b3c', true], ['a*b*c', 'acb', false], ['*', '', true], ['', 'a', false],
    ['.*', 'abc', false], ['*a*a*a*a*a*a*a*a*b', 'a'.repeat(20_000), false], ['a**', 'a\nb', true], ['ab', 'a', false]
  ] as const) t.equal(matchesText(pattern, text), fits, pattern)
})

t.test('a run waits, and its caller with it, until another key or the terminal approves these parameters', async t => {
  const kernel = await start(asks)
  const ended = run(kernel, 'push', { branch: 'main' })
  const asked = await nextOf(kernel)
  const { execution_id: id, digest } = asked
  t.match(asked, { parameters: { branch: 'main' }, key: 'agent', reason: /rule 1/ })
  t.match((await get(kernel, id)).waiting_for, /approval until/)
  await t.rejects(decide(kernel, approveExecution, asked, agent), { code: 'FORBIDDEN', message: /started/ })
  await t.rejects(decide(kernel, approveExecution, asked, { transport: 'http', signal }), { code: 'FORBIDDEN' })
  const reader = { ...person, access: access('reader', 'read', 'execute') }
  await t.rejects(decide(kernel, approveExecution, asked, reader), { message: /lacks the scope "approve"/ })
  await t.rejects(decide(kernel, approveExecution, { ...asked, digest: 'f'.repeat(64) }), { code: 'CONFLICT' })
  await t.rejects(decide(kernel, approveExecution, { ...asked, execution_id: 'x' }), { code: 'EXECUTION_NOT_FOUND' })
  await decide(kernel, approveExecution, asked)
  t.match(await ended, { status: 'success', output: 'pushed main' })
  t.match(await get(kernel, id), {
    transitions: [{ status: 'queued' }, { status: 'waiting' }, { status: 'queued' }, { status: 'running' }, {}],
    approvals: [{ digest, decision: 'approved', decided_by: 'key', key: 'alice', decided_at: String }]
  })
  await t.rejects(decide(kernel, denyExecution, asked), { code: 'CONFLICT', message: /already ended: success/ })
  t.same(await waiting(kernel), [])
})

t.test('a run that is denied, cancelled or forgotten never begins', async t => {
  const kernel = await start({ ...asks, expires_ms: 1_000, waiting_max: 2 })
  const denied = run(kernel, 'push', { branch: 'a' })
  denied.catch(() => {})
  const first = await nextOf(kernel)
  await decide(kernel, denyExecution, first, terminal, { note: 'not today' })
  await t.rejects(denied, { code: 'APPROVAL_DENIED', message: 'It was denied at the terminal: not today' })
  const record = await get(kernel, first.execution_id)
  t.match(record, { status: 'cancelled', started_at: null, approvals: [{ note: 'not today' }] })

  const cancelled = run(kernel, 'push', { branch: 'b' })
  cancelled.catch(() => {})
  const { execution_id } = await nextOf(kernel)
  await kernel.gateway.invoke(cancelExecution, { id: execution_id }, terminal)
  await t.rejects(cancelled, { code: 'CANCELLED' })

  const later = { asynchronous: true, wait: 60 }
  const expired = [run(kernel, 'push', { branch: 'c' }), run(kernel, 'push', { branch: 'd' }, later)]
  for (const one of expired) one.catch(() => {})
  await until(async () => (await waiting(kernel)).length === 2)
  await t.rejects(run(kernel, 'push', { branch: 'e' }), { code: 'OVERLOADED', message: /waiting_max/ })
  for (const one of expired) await t.rejects(one, { code: 'APPROVAL_DENIED', message: /Nobody approved/ })
})

t.test('an asynchronous run waits outside the queue, and a secret is in no request', async t => {
  const kernel = await start(asks, { config: { approvals: asks, execution: { asynchronous_max: 1 } } })
  const { execution_id: id, status } = await run(kernel, 'push', { branch: 'a' }, { asynchronous: true })
  t.equal(status, 'waiting')
  t.match(await run(kernel, 'read', {}, { asynchronous: true, wait: 60 }), { output: 'read' }, 'it takes no place')
  await decide(kernel, approveExecution, await nextOf(kernel))
  await until(async () => (await get(kernel, id)).status === 'success')
  const kept = run(kernel, 'secret', { word: 'hush' })
  const asked = await nextOf(kernel)
  t.same(asked.parameters, { word: '[secret]' })
  await decide(kernel, approveExecution, asked)
  t.match(await kept, { output: 'kept' })
})

t.test('the user of the caller decides where the client can ask; a dismissed question decides nothing', async t => {
  const kernel = await start(asks)
  const asked: string[] = []
  const answering = (answer: JsonObject): Call => ({
    ...agent, questions: { answers: new Set(['form'] as const), ask: async question => {
      asked.push('message' in question ? question.message : '')
      return answer
    } }
  })
  const yes = answering({ action: 'accept', content: { approve: true } })
  const { execution_id } = await run(kernel, 'push', { branch: 'a' }, {}, yes)
  t.match((await get(kernel, execution_id)).approvals, [{ decided_by: 'caller', decision: 'approved' }])
  t.match(asked, [/subject:push .*"branch":"a"/])
  const no = answering({ action: 'accept', content: { approve: false } })
  await t.rejects(run(kernel, 'push', {}, {}, no), { code: 'APPROVAL_DENIED' })
  const dismissed = run(kernel, 'push', {}, {}, answering({ action: 'cancel' }))
  await decide(kernel, approveExecution, await nextOf(kernel))
  t.match(await dismissed, { status: 'success' })
})

t.test('a tool asks while it runs: its time limit and its duration do not run meanwhile', async t => {
  const kernel = await start({})
  const ended = run(kernel, 'careful')
  const asked = await nextOf(kernel)
  t.match(asked, { preview: 'would delete 3 files', reason: 'the tool asks' })
  await new Promise(resolve => setTimeout(resolve, 400))
  await decide(kernel, approveExecution, asked)
  const { execution_id } = await ended
  t.match(await get(kernel, execution_id), {
    output: 'deleted',
    transitions: ['queued', 'running', 'waiting', 'running', 'success'].map(status => ({ status }))
  })
  t.ok((await get(kernel, execution_id)).duration_ms < 300)
  const denied = run(kernel, 'careful')
  denied.catch(() => {})
  await decide(kernel, denyExecution, await nextOf(kernel))
  await t.rejects(denied, { code: 'APPROVAL_DENIED' })
})

t.test('a run that was denied gives back its place among those that may run at once', async t => {
  const concurrency = { key: '', limit: 1, when_full: 'refuse' } as const
  const single = { run: () => 'done', concurrency }
  const kernel = await start({ rules: [{ action: 'ask', tools: ['subject:single'] }] }, { tools: { single } })
  for (const more of [{}, { asynchronous: true }, { idempotency_key: 'once' }]) {
    const denied = run(kernel, 'single', {}, more)
    denied.catch(() => {}) // where it waits for the decision, it is denied
    const asked = await nextOf(kernel)
    await decide(kernel, denyExecution, asked)
    await until(async () => (await get(kernel, asked.execution_id)).status === 'cancelled')
    const approved = run(kernel, 'single')
    await decide(kernel, approveExecution, await nextOf(kernel))
    t.match(await approved, { status: 'success', output: 'done' }, JSON.stringify(more))
  }
})
