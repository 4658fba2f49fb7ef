import { Type, type Static } from 'typebox'
import type { Call } from '../contracts/call.ts'
import { operation } from '../contracts/operation.ts'
import { ExecuteResult, JsonObject, SkillNameAsked, ToolNameAsked } from '../contracts/schemas.ts'
import type { Services } from '../contracts/services.ts'
import { resultOf } from '../executions/record.ts'
import { SkilletError } from '../lib/errors.ts'
import { exampleCall, exampleExecution, exampleId } from './examples.ts'

const Input = Type.Object({
  skill_name: SkillNameAsked,
  tool_name: ToolNameAsked,
  parameters: Type.Unsafe<JsonObject>({
    type: 'object',
    additionalProperties: true,
    default: {},
    description: 'Parameters of the tool, as its `input_schema` describes them. May be left out where the tool requires none'
  }),
  timeout_ms: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 2_147_483_647,
    description: 'Time limit of this run in milliseconds, at most `execution.timeout_ms_max`'
  }))
}, { additionalProperties: false })

export const execute = operation({
  name: 'execute',
  effect: 'write',
  route: 'POST /api/execute',
  summary: 'Execute a tool',
  description: 'Runs a tool and waits for its end. The run is recorded as an execution. A caller that goes away cancels it.',
  input: Input,
  output: Type.Object({ ...ExecuteResult.properties }),
  errors: [
    'SKILL_NOT_FOUND', 'TOOL_NOT_FOUND', 'TOOL_EXECUTION_FAILED', 'TIMEOUT', 'CANCELLED', 'INTERRUPTED', 'OVERLOADED',
    'STORAGE_UNAVAILABLE'
  ],
  example: {
    input: exampleCall,
    output: { execution_id: exampleId, status: 'success', output: exampleExecution.output, duration_ms: 1 }
  },
  handler: run
})

async function run (
  { catalog, config, executions }: Services,
  { skill_name, tool_name, parameters, timeout_ms }: Static<typeof Input>,
  { transport, signal, accepted, access }: Call
): Promise<ExecuteResult> {
  const { skill, tool } = catalog.tool(skill_name, tool_name)
  catalog.check(skill, tool, parameters)
  const { timeout_ms: usual_ms, timeout_ms_max } = config.execution
  if (timeout_ms !== undefined && timeout_ms > timeout_ms_max) {
    throw new SkilletError(
      'INVALID_PARAMETERS',
      `timeout_ms must be <= ${timeout_ms_max}, as execution.timeout_ms_max says`
    )
  }
  const job = {
    skill,
    tool,
    parameters,
    timeout_ms: Math.min(timeout_ms ?? tool.timeout_ms ?? usual_ms, timeout_ms_max),
    transport,
    key: access?.key ?? null
  }
  const { id, status, output, duration_ms } = resultOf(await executions.run(job, signal, accepted))
  return { execution_id: id, status, output, duration_ms }
}
