import { isDeepStrictEqual } from 'node:util'
import { pendingApproval } from '../contracts/approval.ts'
import type { Bus } from '../contracts/bus.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Job, QueueOptions } from '../contracts/services.ts'
import { runtimeOf, type ToolDefinition } from '../contracts/skill.ts'
import { ERRORS, isErrorCode, SkilletError, type ErrorCode } from '../lib/errors.ts'
import { newExecutionId } from '../lib/id.ts'
import { isoTime } from '../lib/time.ts'
import { secretMark, type Redactor } from '../secrets/redact.ts'
import { answerRequest, deniedMessage, expiryOf, isExpired } from './approvals/request.ts'
import type { ExecutionEvent } from './execution.machine.ts'
import { isFinal, nextStatus } from './transitions.ts'

/** The record of an execution: its first state, its transitions, and the result for callers. */

/** Makes the record of a queued job. @param redactor removes secret values from the parameters */
export function recordOf (job: Job, redactor: Redactor | undefined): Execution {
  const record: Execution = {
    id: newExecutionId(),
    skill_name: job.skill.name,
    tool_name: job.tool.name,
    status: 'queued',
    created_at: isoTime(),
    duration_ms: 0,
    runtime: runtimeOf(job.skill, job.tool),
    started_at: null,
    finished_at: null,
    parameters: withoutSecrets(job.tool, givenOf(job), redactor),
    output: '',
    output_truncated: false,
    error: null,
    transitions: [],
    transport: job.transport,
    key: job.key,
    isolation: null
  }
  if (job.origin !== undefined) record.origin = job.origin
  return record
}

/** The parameters of a job as its caller gave them: the record keeps a handle, not what it stands for. */
export function givenOf ({ handles, parameters }: Job): Execution['parameters'] {
  return handles === undefined ? parameters : handles.given
}

/** Describes how the execution of a job waits. */
export function queuedRun (
  record: Execution, job: Job, { priority, queue_ms }: QueueOptions
): NonNullable<Execution['queue']> {
  return {
    priority,
    expires_at: new Date(Date.now() + queue_ms).toISOString(),
    timeout_ms: job.timeout_ms,
    resumable: isDeepStrictEqual(record.parameters, givenOf(job)),
    handed_over_at: null
  }
}

/** Whether an execution waits, has surely not begun, and can be started by any process from its record. */
export function canStart (execution: Execution): boolean {
  const { status, queue } = execution
  if (queue?.resumable !== true || queue.handed_over_at !== null) return false
  const request = pendingApproval(execution)
  return request === undefined ? status === 'queued' && !isExpired(queue) : !isExpired(request)
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
export function abandoned (execution: Execution): Execution {
  const { queue, status } = execution
  const request = pendingApproval(execution)
  if (request !== undefined && isExpired(request)) {
    answerRequest(request, expiryOf(request))
    return ended(execution, 'deny', 'APPROVAL_DENIED', deniedMessage(request))
  }
  return status === 'queued' && queue?.handed_over_at === null && isExpired(queue)
    ? ended(execution, 'expire', 'TIMEOUT', expiredMessage)
    : ended(execution, 'interrupt', 'INTERRUPTED', ERRORS.INTERRUPTED.meaning)
}

/** Makes the final record of an execution that no process has. */
export function ended (
  execution: Execution, type: ExecutionEvent['type'], code: ErrorCode, message: string
): Execution {
  const status = nextStatus(execution.status, { type })
  const at = isoTime()
  const details = { skill: execution.skill_name, tool: execution.tool_name, execution_id: execution.id }
  return {
    ...execution,
    status,
    finished_at: at,
    error: { code, message, details },
    transitions: [...execution.transitions, { status, at }]
  }
}

/** The message of an execution that waited too long. */
export const expiredMessage = 'The execution did not start in the time for which it may wait in the queue'

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
