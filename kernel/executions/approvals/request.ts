import { createHash } from 'node:crypto'
import { approvalTexts, pendingApproval, type Approval, type Decision } from '../../contracts/approval.ts'
import type { Execution } from '../../contracts/schemas.ts'
import { SkilletError } from '../../lib/errors.ts'
import { sorted } from '../../lib/sorted.ts'
import { isoTime, unixTime } from '../../lib/time.ts'
import { isFinal } from '../transitions.ts'

/** Requests for approval, as they are in the record of an execution. */

type Asked = Pick<Execution, 'id' | 'skill_name' | 'tool_name' | 'parameters' | 'approvals'>

/**
 * Makes a request for approval and adds it to the record.
 * @param reason why an approval is needed
 * @param expires_ms how long it may wait
 */
export function addRequest (execution: Asked, reason: string, expires_ms: number, preview?: string): Approval {
  const shown = preview?.slice(0, approvalTexts.preview)
  const request: Approval = {
    digest: digestOf(execution, execution.approvals?.length ?? 0, shown),
    reason,
    ...(shown !== undefined && { preview: shown }),
    asked_at: isoTime(),
    expires_at: isoTime(Date.now() + expires_ms),
    decision: null,
    decided_at: null,
    decided_by: null
  }
  execution.approvals = [...execution.approvals ?? [], request]
  return request
}

/** Whether the record has an approval of this tool with these parameters. */
export function isApproved (execution: Asked): boolean {
  return execution.approvals?.some(({ decision, digest, preview }, index) =>
    decision === 'approved' && digest === digestOf(execution, index, preview)) === true
}

/** Whether the time is over that a request, or an execution in the queue, may wait. */
export function isExpired ({ expires_at }: Pick<Approval, 'expires_at'>): boolean {
  return unixTime(expires_at) <= Date.now()
}

/** The decision that a request has when nobody decides in time. */
export function expiryOf ({ digest }: Approval): Decision {
  return { decision: 'denied', by: 'expiry', digest }
}

/** An execution may wait in the queue for longer by the time for which it waited for a decision. */
export function extendQueue ({ queue }: Pick<Execution, 'queue'>, { asked_at, decided_at }: Approval): void {
  if (queue === undefined || decided_at === null) return
  queue.expires_at = isoTime(unixTime(queue.expires_at) + unixTime(decided_at) - unixTime(asked_at))
}

/** Writes a decision into a request. */
export function answerRequest (request: Approval, { decision, by, key, note }: Decision): void {
  request.decision = decision
  request.decided_at = isoTime()
  request.decided_by = by
  if (key !== undefined) request.key = key
  if (note !== undefined) request.note = note
}

/** The error message of an execution that was not approved. */
export function deniedMessage ({ decided_by, key, note }: Approval): string {
  const why = note === undefined ? '' : `: ${note}`
  switch (decided_by) {
    case 'expiry': return 'Nobody approved it in the time that approvals.expires_ms allows'
    case 'key': return `It was denied with the key "${key}"${why}`
    case 'caller': return `The user of the client denied it${why}`
    default: return `It was denied at the terminal${why}`
  }
}

/**
 * The request of an execution that a decision is about.
 * @throws SkilletError CONFLICT when it waits for no decision, or for another one
 */
export function requestFor (execution: Execution, { digest }: Pick<Decision, 'digest'>): Approval {
  const { id, status } = execution
  const details = { execution_id: id, status }
  const request = pendingApproval(execution)
  if (request === undefined) {
    const state = isFinal(status) ? `has already ended: ${status}` : `waits for no approval: it is ${status}`
    throw new SkilletError('CONFLICT', `The execution ${state}`, details)
  }
  if (request.digest !== digest) {
    const message = 'The execution waits for another approval than this one; look at what it asks now'
    throw new SkilletError('CONFLICT', message, { ...details, digest: request.digest })
  }
  return request
}

/**
 * Identifies what is asked. It is made of the parameters in the record, which have no secrets: nobody can guess a
 * secret from it.
 * @param index the number of earlier requests of the execution
 */
function digestOf (
  { id, skill_name, tool_name, parameters }: Asked, index: number, preview: string | undefined
): string {
  const asked = JSON.stringify([id, index, skill_name, tool_name, sorted(parameters), preview ?? null])
  return createHash('sha256').update(asked).digest('hex')
}
