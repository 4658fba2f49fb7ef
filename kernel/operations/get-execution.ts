import { Type } from 'typebox'
import { executionNotFound } from '../executions/record.ts'
import { operation } from '../contracts/operation.ts'
import { Execution } from '../contracts/schemas.ts'
import { isFinal } from '../executions/transitions.ts'
import { exampleExecution, exampleId } from './examples.ts'
import { waitMax_s } from './run-options.ts'
import { waitingReason } from './waiting-reason.ts'

/** The `id` in a request: any string is valid, but only a UUID can match an execution. */
export const IdAsked = Type.String({ minLength: 1, maxLength: 256, description: 'Execution identifier' })

export const getExecution = operation({
  name: 'get_execution',
  effect: 'read',
  route: 'GET /api/executions/{id}',
  summary: 'Get one execution',
  description: 'The whole record of an execution, running or ended. With `wait`, it answers when the execution has ended, or after that time.',
  input: Type.Object({
    id: IdAsked,
    wait: Type.Optional(Type.Integer({
      minimum: 0, maximum: waitMax_s, description: 'How long to wait for the end of the execution, in seconds'
    }))
  }, { additionalProperties: false }),
  output: Type.Object({
    ...Execution.properties,
    waiting_for: Type.Optional(Type.String({ description: 'Why it does not run yet' }))
  }),
  errors: ['EXECUTION_NOT_FOUND'],
  example: { input: { id: exampleId }, output: exampleExecution },
  async handler ({ storage, executions }, { id, wait = 0 }, { signal }) {
    const stored = await storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    let { execution } = stored
    if (wait > 0 && !isFinal(execution.status)) {
      execution = await executions.wait(id, wait * 1_000, signal) ?? execution
    }
    const waiting_for = waitingReason(execution, executions)
    return waiting_for === undefined ? execution : { ...execution, waiting_for }
  }
})
