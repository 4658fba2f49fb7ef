import { Type, type Static } from 'typebox'
import { SkilletError } from '../errors.ts'
import { checkExcerpt, excerpt, ExcerptWanted } from '../excerpt.ts'
import { resultOf } from '../executions.ts'
import { agentTool, operation, type Call, type Services } from '../operation.ts'
import { withClientInput } from '../client-input.ts'
import { correctCall, parametersJson } from '../near-misses.ts'
import { ExecuteResult, JsonObject, SkillNameAsked, ToolNameAsked } from '../schemas.ts'
import { termsOf, textOf } from '../terms.ts'
import { exampleCall, exampleExecution, exampleId } from './examples.ts'

const Input = Type.Object({
  skill_name: SkillNameAsked,
  tool_name: ToolNameAsked,
  parameters: Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, default: {}, description: 'Parameters of the tool, as its `input_schema` describes them. May be left out where the tool requires none' }),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Time limit of this run in milliseconds, at most `execution.timeout_ms_max`' }))
}, { additionalProperties: false })

/** Where an agent finds the whole output of an execution. */
export function outputUri (execution_id: string): string {
  return `skillet://executions/${execution_id}/output`
}

export const execute = operation({
  name: 'execute',
  effect: 'write',
  route: 'POST /api/execute',
  summary: 'Execute a tool',
  description: 'Runs a tool and waits for its end. The run is recorded as an execution. A caller that goes away cancels it.',
  input: Input,
  output: Type.Object({ ...ExecuteResult.properties }),
  errors: ['SKILL_NOT_FOUND', 'TOOL_NOT_FOUND', 'TOOL_EXECUTION_FAILED', 'TIMEOUT', 'CANCELLED', 'INTERRUPTED', 'OVERLOADED'],
  example: {
    input: exampleCall,
    output: { execution_id: exampleId, status: 'success', output: exampleExecution.output, duration_ms: 1 }
  },
  agent: agentTool({
    name: 'execute',
    effect: 'write',
    title: 'Run a tool of a skill',
    description: 'Run one tool of a skill and get its output. Find the tool with search_skills first: it gives the exact names and parameters. After an error, correct what its message names and call again. Keep long output short with grep, jmespath or max_output; what was cut is linked as a resource.',
    input: Type.Object({
      skill_name: Type.String({ minLength: 1, maxLength: 256 }),
      tool_name: Type.String({ minLength: 1, maxLength: 256 }),
      parameters: Type.Unsafe<JsonObject>({
        type: 'object',
        // Strict modes of models close every object: this is the name that is left there.
        properties: { [parametersJson]: { type: 'string', description: 'All of them as JSON, only where you can\'t name them' } },
        description: 'Parameters of that tool by name, such as {"text": "Hello"}'
      }),
      timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
      ...ExcerptWanted.properties
    }, { additionalProperties: false }),
    output: Type.Object({
      execution_id: Type.String(),
      status: Type.String(),
      output: Type.String(),
      duration_ms: Type.Integer(),
      note: Type.Optional(Type.String({ description: 'What was cut or selected' }))
    }),
    example: exampleCall,
    correct: ({ catalog }, given) => correctCall(catalog, given),
    async handler (services, { max_output, truncate, grep, jmespath, ...asked }, call) {
      const wanted = { max_output, truncate, ...(grep !== undefined && grep !== '' && { grep }), ...(jmespath !== undefined && jmespath !== '' && { jmespath }) }
      await checkExcerpt(wanted, services.selections)
      const result = await run(services, asked, call)
      const terms = termsOf(result.output, services.catalog.tool(asked.skill_name, asked.tool_name).tool)
      const spoken = terms !== undefined && call.spoken?.(terms) === true
      const { output, note } = await excerpt(spoken ? textOf(terms) : result.output, wanted, services.selections)
      return { ...result, output, ...(note !== undefined && { note: `${note}; whole output: ${outputUri(result.execution_id)}` }) }
    }
  }),
  handler: run
})

async function run ({ catalog, config, executions }: Services, { skill_name, tool_name, parameters: given, timeout_ms }: Static<typeof Input>, { transport, signal, accepted, access, client }: Call): Promise<ExecuteResult> {
  const { skill, tool } = catalog.tool(skill_name, tool_name)
  const parameters = client === undefined ? given : withClientInput(skill_name, tool, given, client)
  catalog.check(skill, tool, parameters)
  const { timeout_ms: usual_ms, timeout_ms_max } = config.execution
  if (timeout_ms !== undefined && timeout_ms > timeout_ms_max) {
    throw new SkilletError('INVALID_PARAMETERS', `timeout_ms must be <= ${timeout_ms_max}, as execution.timeout_ms_max says`)
  }
  const job = { skill, tool, parameters, timeout_ms: Math.min(timeout_ms ?? tool.timeout_ms ?? usual_ms, timeout_ms_max), transport, key: access?.key ?? null }
  const { id, status, output, duration_ms } = resultOf(await executions.run(job, signal, accepted))
  return { execution_id: id, status, output, duration_ms }
}
