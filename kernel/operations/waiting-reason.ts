import { pendingApproval } from '../contracts/approval.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Runner } from '../contracts/services.ts'

/** Why an execution does not run yet, or not on. */
export function waitingReason (execution: Execution, executions: Pick<Runner, 'reasonOf'>): string | undefined {
  const request = pendingApproval(execution)
  if (request !== undefined) return `It waits for an approval until ${request.expires_at} (${request.reason})`
  return execution.status === 'queued' ? executions.reasonOf(execution.id) : undefined
}
