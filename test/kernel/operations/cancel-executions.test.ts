import t from 'tap'
import {
  cancelExecutions, execute, getExecution, type Access, type Call, type ExecutionSummary
} from '../../../kernel/index.ts'
import { until } from '../../../plugins/testing/until.ts'
import { startKernel } from '../../support/kernel.ts'

const signal = new AbortController().signal
const call: Call = { transport: 'http', signal }

t.test('a call cancels what its key may see, as many as it says, those that wait first', async t => {
  let began = 0
  const { kernel, close } = await startKernel({
    config: { execution: { asynchronous_max: 2, drain_ms: 0 } },
    tools: Object.fromEntries(['open', 'closed'].map(name => [name, {
      run: (_parameters, { signal }) => new Promise(resolve => {
        began++
        signal.addEventListener('abort', () => { resolve('aborted') })
      })
    }]))
  })
  t.teardown(close)
  const begin = async (tool_name: string): Promise<string> => {
    const input = { skill_name: 'subject', tool_name, parameters: {}, asynchronous: true }
    return (await kernel.gateway.invoke(execute, input, call)).execution_id
  }
  const statusOf = async (id: string): Promise<string> =>
    (await kernel.gateway.invoke(getExecution, { id }, call)).status
  const closed = await begin('closed')
  const running = await begin('open')
  await until(() => began === 2)
  const waiting = await Promise.all(Array.from({ length: 40 }, () => begin('open')))
  const allows = Object.assign((_skill: string, tool?: string) => tool === undefined || tool === 'open', {
    ofSome: () => true
  })
  const access: Access = { key: 'narrow', scopes: new Set(['read', 'execute']), allows }
  const cancel = (input: object, of: Access = access): Promise<{
    matched: number, cancelled: number, executions: ExecutionSummary[]
  }> => kernel.gateway.invoke(cancelExecutions, { skill_name: 'subject', ...input }, { ...call, access: of })

  await t.rejects(cancel({}, { ...access, scopes: new Set(['read']) }), { code: 'FORBIDDEN' })
  t.match(await cancel({ dry_run: true }), { matched: 41, cancelled: 0 })
  t.equal(await statusOf(running), 'running', 'a dry run ends nothing')
  const first = await cancel({ limit: 40 })
  t.match(first, { matched: 41, cancelled: 40 })
  t.same(first.executions.map(({ id }) => id).toSorted(), waiting.toSorted())
  t.match(await cancel({ tool_name: 'closed' }), { matched: 0 }, 'what the key may not see is not there')
  t.match(await cancel({}), { matched: 1, cancelled: 1, executions: [{ id: running, status: 'cancelled' }] })
  t.equal(await statusOf(closed), 'running')
  t.equal(began, 2, 'none began meanwhile')
})
