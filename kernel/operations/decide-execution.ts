import { Type } from 'typebox'
import { approvalTexts, type Approval, type Decision } from '../contracts/approval.ts'
import type { Call } from '../contracts/call.ts'
import { operation } from '../contracts/operation.ts'
import { Execution } from '../contracts/schemas.ts'
import type { Services } from '../contracts/services.ts'
import { executionNotFound } from '../executions/record.ts'
import { SkilletError } from '../lib/errors.ts'
import { exampleApproval, exampleExecution, exampleId } from './examples.ts'
import { IdAsked } from './get-execution.ts'

const input = Type.Object({
  id: IdAsked,
  digest: Type.String({
    minLength: 1, maxLength: 128,
    description: 'The `digest` of the request, as list_approvals shows it: the decision counts for these parameters only'
  }),
  note: Type.Optional(Type.String({ maxLength: approvalTexts.note, description: 'The reason, for the record' }))
}, { additionalProperties: false })

const errors = ['EXECUTION_NOT_FOUND', 'CONFLICT', 'OVERLOADED'] as const

export const approveExecution = operation({
  name: 'approve_execution',
  effect: 'write',
  scope: 'approve',
  route: 'POST /api/executions/{id}/approve',
  summary: 'Approve an execution that waits',
  description: 'Lets an execution run that waits for an approval, and answers with its record. The key that started it can\'t approve it. One that does not wait for this approval is a CONFLICT.',
  input,
  output: Type.Object({ ...Execution.properties }),
  errors,
  example: {
    input: { id: exampleId, digest: exampleApproval.digest },
    output: exampleDecided({
      decision: 'approved', decided_at: '2026-01-02T03:05:05.678Z', decided_by: 'key', key: 'alice'
    })
  },
  async handler (services, { id, ...given }, call) {
    refuseNameless(id, call)
    await refuseOwn(services, id, call)
    return await services.executions.decide(id, decisionOf('approved', given, call), call.signal)
  }
})

export const denyExecution = operation({
  name: 'deny_execution',
  effect: 'write',
  scope: 'approve',
  route: 'POST /api/executions/{id}/deny',
  summary: 'Deny an execution that waits',
  description: 'Ends an execution that waits for an approval, and answers with its record. One that does not wait for this approval is a CONFLICT.',
  input,
  output: Type.Object({ ...Execution.properties }),
  errors,
  example: {
    input: { id: exampleId, digest: exampleApproval.digest, note: 'not on Fridays' },
    output: {
      ...exampleDecided({
        decision: 'denied', decided_at: '2026-01-02T03:05:05.678Z', decided_by: 'key', key: 'alice',
        note: 'not on Fridays'
      }),
      status: 'cancelled',
      finished_at: '2026-01-02T03:05:05.678Z',
      error: {
        code: 'APPROVAL_DENIED',
        message: 'It was denied with the key "alice": not on Fridays',
        details: { skill: 'text', tool: 'count', execution_id: exampleId }
      }
    }
  },
  handler ({ executions }, { id, ...given }, call) {
    refuseNameless(id, call)
    return executions.decide(id, decisionOf('denied', given, call), call.signal)
  }
})

const remedy = (id: string): string =>
  `decide at the terminal, with skillet approve ${id}, or with another key that has the scope "approve"`

/** @throws SkilletError FORBIDDEN for a caller without a key, which may be the agent, unless it is the command line */
function refuseNameless (id: string, { access, transport }: Call): void {
  if (access !== undefined || transport === 'cli') return
  throw new SkilletError('FORBIDDEN', `Without a key, you can't be told from the agent that started it; ${remedy(id)}`)
}

/** @throws SkilletError FORBIDDEN for the key that started the execution */
async function refuseOwn ({ storage }: Services, id: string, { access }: Call): Promise<void> {
  if (access === undefined) return
  const stored = await storage.get(id)
  if (stored === undefined) throw executionNotFound(id)
  if (stored.execution.key !== access.key) return
  const message = `The key "${access.key}" started the execution and can't approve it; ${remedy(id)}`
  throw new SkilletError('FORBIDDEN', message, { key: access.key, execution_id: id })
}

function decisionOf (
  decision: Decision['decision'], { digest, note }: { digest: string, note?: string }, { access }: Call
): Decision {
  return {
    decision,
    by: access === undefined ? 'terminal' : 'key',
    digest,
    ...(access !== undefined && { key: access.key }),
    ...(note !== undefined && note !== '' && { note })
  }
}

function exampleDecided (decided: Partial<Approval>): Execution {
  const { transitions: [queued = { status: 'queued', at: exampleExecution.created_at }] } = exampleExecution
  const [asked_at, decided_at] = ['2026-01-02T03:04:05.679Z', '2026-01-02T03:05:05.678Z']
  return {
    ...exampleExecution,
    status: 'queued', duration_ms: 0, started_at: null, finished_at: null, output: '', isolation: null,
    key: 'agent',
    transitions: [
      queued, { status: 'waiting', at: asked_at },
      { status: decided.decision === 'denied' ? 'cancelled' : 'queued', at: decided_at }
    ],
    approvals: [{ ...exampleApproval, ...decided }]
  }
}
