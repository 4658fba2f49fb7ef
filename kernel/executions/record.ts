import type { Bus } from '../contracts/bus.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Job } from '../contracts/services.ts'
import { runtimeOf, type ToolDefinition } from '../contracts/skill.ts'
import { ERRORS, isErrorCode, SkilletError } from '../lib/errors.ts'
import { newExecutionId } from '../lib/id.ts'
import { isoTime } from '../lib/time.ts'
import { secretMark, type Redactor } from '../secrets/redact.ts'
import type { ExecutionEvent } from './execution.machine.ts'
import { isFinal, nextStatus } from './transitions.ts'

/** The record of an execution: its first state, its transitions, and the result for callers. */

/** Makes the record of a queued job. @param redactor removes secret values from the parameters */
export function recordOf (job: Job, redactor: Redactor | undefined): Execution {
  return {
    id: newExecutionId(),
    skill_name: job.skill.name,
    tool_name: job.tool.name,
    status: 'queued',
    created_at: isoTime(),
    duration_ms: 0,
    runtime: runtimeOf(job.skill, job.tool),
    started_at: null,
    finished_at: null,
    parameters: withoutSecrets(job.tool, job.parameters, redactor),
    output: '',
    output_truncated: false,
    error: null,
    transitions: [],
    transport: job.transport,
    key: job.key,
    isolation: null
  }
}

/**
 * Applies an event to a record and moves it to the next state.
 * @param began_ms performance.now() when the tool started, if it started
 * @param ago_ms how long ago the event happened, in milliseconds
 * @returns whether the state changed
 */
export function move (
  execution: Execution, type: ExecutionEvent['type'], bus: Bus, began_ms: number | undefined, ago_ms = 0
): boolean {
  const status = nextStatus(execution.status, { type })
  if (status === execution.status) return false
  execution.status = status
  const then = isoTime(Date.now() - ago_ms)
  // An event that is reported late, and rounded, could seem to be earlier than the creation of the execution.
  const at = then < execution.created_at ? execution.created_at : then
  if (isFinal(status)) {
    execution.finished_at = at
    if (began_ms !== undefined) execution.duration_ms = Math.round(performance.now() - began_ms)
  }
  recordTransition(execution, at, bus)
  return true
}

/** Adds the present state to the transitions, with its time, and publishes it. */
export function recordTransition (execution: Execution, at: string, bus: Bus): void {
  execution.transitions.push({ status: execution.status, at })
  publish(execution, bus)
}

/** Publishes the newest transition. */
export function publish ({ id, skill_name, tool_name, transitions }: Execution, bus: Bus): void {
  if (!bus.has('transition')) return
  const newest = transitions.at(-1)
  if (newest !== undefined) bus.emit('transition', { execution_id: id, skill_name, tool_name, ...newest })
}

/** Makes the final record of an execution that no process will finish. */
export function interrupted (execution: Execution): Execution {
  const status = nextStatus(execution.status, { type: 'interrupt' })
  const at = isoTime()
  const details = { skill: execution.skill_name, tool: execution.tool_name, execution_id: execution.id }
  return {
    ...execution,
    status,
    finished_at: at,
    error: { code: 'INTERRUPTED', message: ERRORS.INTERRUPTED.meaning, details },
    transitions: [...execution.transitions, { status, at }]
  }
}

/** Returns a final record to a caller of `execute`. @throws SkilletError when the execution ended with an error */
export function resultOf (execution: Execution): Execution {
  const { error } = execution
  if (error === null) return execution
  throw new SkilletError(isErrorCode(error.code) ? error.code : 'INTERNAL', error.message, error.details)
}

export function executionNotFound (id: string): SkilletError {
  const message = `There is no execution "${id}"; it may have been pruned from the history`
  return new SkilletError('EXECUTION_NOT_FOUND', message, { execution_id: id })
}

/** The parameters for the record: without secret values, also where another parameter contains a secret value. */
function withoutSecrets (
  tool: ToolDefinition,
  parameters: Execution['parameters'],
  redactor: Redactor | undefined
): Execution['parameters'] {
  if (tool.secrets.length === 0 && redactor === undefined) return parameters
  const entries = Object.entries(parameters)
    .map(([name, value]) => [name, tool.secrets.includes(name) ? secretMark : value])
  const shown = Object.fromEntries(entries) as Execution['parameters'] // has the same names
  return redactor === undefined ? shown : redactor.data(shown)
}
