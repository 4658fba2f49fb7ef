import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { ExecuteResult, JsonObject, SkillNameAsked, ToolNameAsked } from '../contracts/schemas.ts'
import { exampleCall, exampleExecution, exampleId } from './examples.ts'
import { withJob } from './handles.ts'
import { runJob, RunOptions, unfinishedId } from './run-options.ts'

const Input = Type.Object({
  skill_name: SkillNameAsked,
  tool_name: ToolNameAsked,
  parameters: Type.Unsafe<JsonObject>({
    type: 'object',
    additionalProperties: true,
    default: {},
    description: 'Parameters of the tool, as its `input_schema` describes them. May be left out where the tool requires none. Each may be a handle: `{"$from": "execution://ID/output", "select": "JMESPath"}` stands for the output of another execution, or what the expression selects from it'
  }),
  ...RunOptions.properties
}, { additionalProperties: false })

export const execute = operation({
  name: 'execute',
  effect: 'write',
  route: 'POST /api/execute',
  summary: 'Execute a tool',
  description: 'Runs a tool and waits for its end. The run is recorded as an execution. A caller that goes away cancels it, unless it is asynchronous or has an idempotency key.',
  input: Input,
  output: Type.Object({ ...ExecuteResult.properties }),
  errors: [
    'SKILL_NOT_FOUND', 'TOOL_NOT_FOUND', 'TOOL_EXECUTION_FAILED', 'TIMEOUT', 'APPROVAL_DENIED', 'CONFLICT',
    'CANCELLED', 'INTERRUPTED', 'EXECUTION_NOT_FOUND', 'OUTPUT_NOT_FOUND', 'OVERLOADED', 'STORAGE_UNAVAILABLE'
  ],
  example: {
    input: exampleCall,
    output: { execution_id: exampleId, status: 'success', output: exampleExecution.output, duration_ms: 1 }
  },
  unfinished: unfinishedId,
  handler: (services, input, call) => withJob(services, input, call, job => runJob(services, job, input, call))
})
