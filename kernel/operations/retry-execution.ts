import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { ExecuteResult, JsonObject } from '../contracts/schemas.ts'
import { executionNotFound } from '../executions/record.ts'
import { isFinal } from '../executions/transitions.ts'
import { SkilletError } from '../lib/errors.ts'
import { secretMark } from '../secrets/redact.ts'
import { exampleExecution, exampleId } from './examples.ts'
import { IdAsked } from './get-execution.ts'
import { withJob } from './handles.ts'
import { runJob, RunOptions, unfinishedId } from './run-options.ts'

export const retryExecution = operation({
  name: 'retry_execution',
  effect: 'write',
  route: 'POST /api/executions/{id}/retry',
  summary: 'Repeat an execution',
  description: 'Runs the tool of an execution that has ended again, as a new execution whose `origin` is the old one.',
  input: Type.Object({
    id: IdAsked,
    parameters: Type.Optional(Type.Unsafe<JsonObject>({
      type: 'object', additionalProperties: true,
      description: 'Parameters that are changed; all others are those of the old execution'
    })),
    ...RunOptions.properties
  }, { additionalProperties: false }),
  output: Type.Object({ ...ExecuteResult.properties }),
  errors: [
    'EXECUTION_NOT_FOUND', 'OUTPUT_NOT_FOUND', 'SKILL_NOT_FOUND', 'TOOL_NOT_FOUND', 'TOOL_EXECUTION_FAILED', 'TIMEOUT',
    'APPROVAL_DENIED', 'CONFLICT', 'CANCELLED', 'INTERRUPTED', 'OVERLOADED', 'STORAGE_UNAVAILABLE'
  ],
  example: {
    input: { id: exampleId, parameters: { text: 'Hello again' } },
    output: {
      execution_id: '01980a2b-3c4e-7a10-9b7c-0d1e2f3a4b5c', status: 'success', output: exampleExecution.output,
      duration_ms: 1
    }
  },
  unfinished: unfinishedId,
  async handler (services, { id, parameters: changed = {}, ...options }, call) {
    const stored = await services.storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    const { skill_name, tool_name, status, parameters: before } = stored.execution
    if (!isFinal(status)) {
      const details = { execution_id: id, status }
      throw new SkilletError('CONFLICT', `The execution is ${status}; only one that has ended can be repeated`, details)
    }
    const parameters = { ...structuredClone(before), ...changed }
    refuseMissingSecrets(services.catalog.tool(skill_name, tool_name).tool.secrets, parameters)
    return await withJob(services, { skill_name, tool_name, parameters, ...options }, call, job =>
      runJob(services, { ...job, origin: id }, options, call))
  }
})

/** @throws SkilletError INVALID_PARAMETERS when a secret parameter is needed again: the history has no secrets */
function refuseMissingSecrets (secrets: readonly string[], parameters: JsonObject): void {
  const missing = secrets.filter(name => parameters[name] === secretMark)
  if (missing.length === 0) return
  const names = missing.join(', ')
  throw new SkilletError('INVALID_PARAMETERS', `The history has no secrets: give ${names} again, in parameters`)
}
