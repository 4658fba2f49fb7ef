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

/** The record of an execution: how it begins, moves from state to state, and what callers get of it. */

/** The record of a job that waits. @param redactor takes secret values out of its parameters */
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
 * Moves a record to the state that an event leads to.
 * @param began_ms performance.now() when its tool began, if it did
 * @param ago_ms how long ago it happened
 * @returns whether that is another state
 */
export function move (execution: Execution, type: ExecutionEvent['type'], bus: Bus, began_ms: number | undefined, ago_ms = 0): boolean {
  const status = nextStatus(execution.status, { type })
  if (status === execution.status) return false
  execution.status = status
  const then = isoTime(Date.now() - ago_ms)
  // Told late and rounded, it may seem to have begun before it was there.
  const at = then < execution.created_at ? execution.created_at : then
  if (isFinal(status)) {
    execution.finished_at = at
    if (began_ms !== undefined) execution.duration_ms = Math.round(performance.now() - began_ms)
  }
  recordTransition(execution, at, bus)
  return true
}

/** Notes the present state as entered at a time, and publishes it. */
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

/** The final record of an execution that nobody finishes. */
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

/** What a caller of `execute` gets for a final record: the record itself, or the error it ended with. */
export function resultOf (execution: Execution): Execution {
  const { error } = execution
  if (error === null) return execution
  throw new SkilletError(isErrorCode(error.code) ? error.code : 'INTERNAL', error.message, error.details)
}

export function executionNotFound (id: string): SkilletError {
  const message = `There is no execution "${id}"; it may have been pruned from the history`
  return new SkilletError('EXECUTION_NOT_FOUND', message, { execution_id: id })
}

/** The parameters as they are recorded: a secret value is not, nor where another parameter holds it. */
function withoutSecrets (tool: ToolDefinition, parameters: Execution['parameters'], redactor: Redactor | undefined): Execution['parameters'] {
  if (tool.secrets.length === 0 && redactor === undefined) return parameters
  const entries = Object.entries(parameters).map(([name, value]) => [name, tool.secrets.includes(name) ? secretMark : value])
  const shown = Object.fromEntries(entries) as Execution['parameters'] // the same names
  return redactor === undefined ? shown : redactor.data(shown)
}
