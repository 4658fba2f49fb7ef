import type { AnyStateMachine } from 'xstate'
import { executionMachine, type ExecutionEvent } from './execution.machine.ts'
import { EXECUTION_STATUSES, type ExecutionStatus } from '../contracts/schemas.ts'

/** Maps a state and an event to the next state. An event that is missing in a state does not change the state. */
export type TransitionTable = ReadonlyMap<string, ReadonlyMap<string, string>>

/**
 * Compiles a flat machine to its transition table.
 * @throws Error with the name of the state, when the machine has a feature that a table can't hold: guards, actions,
 * entry or exit, delayed or eventless transitions, invocations, nested states, several targets, wildcards.
 */
export function compileTransitions (machine: AnyStateMachine): TransitionTable {
  const table = new Map<string, Map<string, string>>()
  for (const [name, state] of Object.entries(machine.root.states)) {
    const refuse = (feature: string): never => { throw new Error(
      `state "${name}" of machine "${machine.id}" has ${feature}; only states and events compile to a table`
    ) }
    if (state.type !== 'atomic' && state.type !== 'final') refuse('nested states')
    if (state.invoke.length > 0) refuse('an invocation')
    if (state.after.length > 0) refuse('a delayed transition') // checked before the entry actions that schedule it
    if (state.entry.length > 0 || state.exit.length > 0) refuse('an entry or exit action')
    if ((state.always ?? []).length > 0) refuse('an eventless transition')
    const row = new Map<string, string>()
    for (const [event, transitions] of state.transitions) {
      const [transition, ...others] = transitions
      if (transition === undefined) continue
      if (others.length > 0 || transition.guard !== undefined) refuse(`a guard on "${event}"`)
      if (transition.actions.length > 0) refuse(`an action on "${event}"`)
      if (event.includes('*')) refuse(`a wildcard "${event}"`)
      const [target, ...more] = transition.target ?? []
      if (target === undefined || more.length > 0) refuse(`no single target for "${event}"`)
      else row.set(event, target.key)
    }
    table.set(name, row)
  }
  return table
}

/** The execution machine's table, compiled once when the program loads. */
export const executionTransitions = compileTransitions(executionMachine)

const statuses = new Set<string>(EXECUTION_STATUSES)
function isStatus (name: string): name is ExecutionStatus {
  return statuses.has(name)
}

/** Returns the state after an event; the same state when the event does not apply. */
export function nextStatus (status: ExecutionStatus, event: ExecutionEvent): ExecutionStatus {
  const next = executionTransitions.get(status)?.get(event.type)
  return next !== undefined && isStatus(next) ? next : status
}

/** Whether a state is final: no event leads to another state. */
export function isFinal (status: ExecutionStatus): boolean {
  return executionTransitions.get(status)?.size === 0
}
