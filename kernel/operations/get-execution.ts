import { Type } from 'typebox'
import { executionNotFound } from '../executions/record.ts'
import { operation } from '../contracts/operation.ts'
import { Execution } from '../contracts/schemas.ts'
import { exampleExecution, exampleId } from './examples.ts'

/** The `id` in a request: any string is valid, but only a UUID can match an execution. */
export const IdAsked = Type.String({ minLength: 1, maxLength: 256, description: 'Execution identifier' })

export const getExecution = operation({
  name: 'get_execution',
  effect: 'read',
  route: 'GET /api/executions/{id}',
  summary: 'Get one execution',
  description: 'The whole record of an execution, running or ended.',
  input: Type.Object({ id: IdAsked }, { additionalProperties: false }),
  output: Type.Object({ ...Execution.properties }),
  errors: ['EXECUTION_NOT_FOUND'],
  example: { input: { id: exampleId }, output: exampleExecution },
  async handler ({ storage }, { id }) {
    const stored = await storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    return stored.execution
  }
})
