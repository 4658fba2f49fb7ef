import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { Execution } from '../contracts/schemas.ts'
import { exampleExecution, exampleId } from './examples.ts'
import { IdAsked } from './get-execution.ts'

export const cancelExecution = operation({
  name: 'cancel_execution',
  effect: 'write',
  route: 'POST /api/executions/{id}/cancel',
  summary: 'Cancel an execution',
  description: 'Ends a queued or running execution, whichever process runs it, and answers with its record. One that has ended is a CONFLICT.',
  input: Type.Object({ id: IdAsked }, { additionalProperties: false }),
  output: Type.Object({ ...Execution.properties }),
  errors: ['EXECUTION_NOT_FOUND', 'CONFLICT'],
  example: {
    input: { id: exampleId },
    output: {
      ...exampleExecution,
      status: 'cancelled',
      output: '',
      transitions: [
        ...exampleExecution.transitions.slice(0, 2),
        { status: 'cancelled' as const, at: '2026-01-02T03:04:05.680Z' }
      ],
      error: {
        code: 'CANCELLED',
        message: 'The execution was cancelled',
        details: { skill: 'text', tool: 'count', execution_id: exampleId }
      }
    }
  },
  handler: ({ executions }, { id }, { signal }) => executions.cancel(id, signal)
})
