import t from 'tap'
import { fromPromise, getNextSnapshot, setup } from 'xstate'
import { executionMachine, type ExecutionEvent } from '../../../kernel/executions/execution.machine.ts'
import { EXECUTION_STATUSES } from '../../../kernel/contracts/schemas.ts'
import {
  compileTransitions, executionTransitions, isFinal, nextStatus
} from '../../../kernel/executions/transitions.ts'

const events: ExecutionEvent['type'][] = [
  'begin', 'ask', 'approve', 'resume', 'deny', 'succeed', 'fail', 'expire', 'cancel', 'interrupt'
]

t.test('the table agrees with the machine for every state and event', async t => {
  t.same(
    [...executionTransitions.keys()].toSorted(),
    EXECUTION_STATUSES.toSorted(),
    'the machine has the statuses of the schema, and no other'
  )
  for (const status of EXECUTION_STATUSES) {
    const snapshot = executionMachine.resolveState({ value: status })
    for (const type of events) {
      const byMachine = getNextSnapshot(executionMachine, snapshot, { type }).value
      t.equal(nextStatus(status, { type }), byMachine, `${status} + ${type}`)
    }
    t.equal(isFinal(status), executionMachine.states[status]?.type === 'final', `${status} final`)
  }
})

t.test('the machine knows no event that the test leaves out', async t => {
  t.same(new Set(executionMachine.events), new Set(events))
})

t.test('a new execution is queued, and any sequence of events ends in one final state that nothing leaves', async t => {
  const walk = (status: typeof EXECUTION_STATUSES[number], depth: number): void => {
    if (depth === 0) return
    for (const type of events) {
      const next = nextStatus(status, { type })
      if (isFinal(status) && next !== status) t.fail(`${status} was left by ${type}`)
      walk(next, depth - 1)
    }
  }
  walk('queued', 4)
  t.equal(executionMachine.config.initial, 'queued')
})

t.test('the compiler refuses what a table can not hold', async t => {
  const { createMachine } = setup({
    guards: { never: () => false }, actions: { act () {} }, actors: { some: fromPromise(async () => {}) }
  })
  const refused = (states: Parameters<typeof createMachine>[0]['states'], why: RegExp): void => {
    t.throws(() => compileTransitions(createMachine({ id: 'm', initial: 'a', states: { ...states } })), why)
  }
  refused({ a: { on: { x: { target: 'b', guard: 'never' } } }, b: {} }, /guard on "x"/)
  refused({ a: { on: { x: [{ target: 'b', guard: 'never' }, 'c'] } }, b: {}, c: {} }, /guard/)
  refused({ a: { on: { x: { target: 'b', actions: 'act' } } }, b: {} }, /action on "x"/)
  refused({ a: { entry: 'act' } }, /entry or exit/)
  refused({ a: { exit: 'act' } }, /entry or exit/)
  refused({ a: { after: { 10: 'b' } }, b: {} }, /delayed/)
  refused({ a: { always: 'b' }, b: {} }, /eventless/)
  refused({ a: { invoke: { src: 'some' } } }, /invocation/)
  refused({ a: { initial: 'b', states: { b: {} } } }, /nested/)
  refused({ a: { on: { '*': 'b' } }, b: {} }, /wildcard/)
  refused({ a: { on: { x: {} } } }, /no single target/)
})
