import { Type } from 'typebox'
import { execute, type JsonObject } from '../../../kernel/index.ts'
import { agentTool, type AgentTool } from './agent-tool.ts'
import { withClientInput } from './client-input.ts'
import { checkExcerpt, excerpt, ExcerptWanted } from './excerpt.ts'
import { correctCall, parametersJson } from './near-misses.ts'
import type { Selections } from './select.ts'
import { termsOf, textOf } from './terms.ts'

/** The URI at which an agent can read the whole output of an execution. */
export function outputUri (execution_id: string): string {
  return `skillet://executions/${execution_id}/output`
}

/** What an agent gives to run a tool. */
const Call = Type.Object({
  skill_name: Type.String({ minLength: 1, maxLength: 256 }),
  tool_name: Type.String({ minLength: 1, maxLength: 256 }),
  parameters: Type.Unsafe<JsonObject>({
    type: 'object',
    // Strict modes of models forbid other properties in every object, so that only this property can be used there.
    properties: {
      [parametersJson]: { type: 'string', description: 'All of them as JSON, only where you can\'t name them' }
    },
    description: 'Parameters of that tool by name, such as {"text": "Hello"}'
  }),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
  ...ExcerptWanted.properties
}, { additionalProperties: false })

/**
 * Runs a tool of a skill.
 * @param selections apply the agents' expressions to the output of the tool
 */
export function executeForAgents (selections: Pick<Selections, 'select'>): AgentTool {
  return agentTool({
    name: 'execute',
    effect: 'write',
    title: 'Run a tool of a skill',
    description: 'Run one tool of a skill and get its output. Find the tool with search_skills first: it gives the exact names and parameters. After an error, correct what its message names and call again. Keep long output short with grep, jmespath or max_output; what was cut is linked as a resource.',
    input: Call,
    output: Type.Object({
      execution_id: Type.String(),
      status: Type.String(),
      output: Type.String(),
      duration_ms: Type.Integer(),
      note: Type.Optional(Type.String({ description: 'What was cut or selected' }))
    }),
    example: { skill_name: 'text', tool_name: 'count', parameters: { text: 'Hello, world' } },
    correct: ({ catalog }, input) => correctCall(catalog, input),
    async handler (services, { max_output, truncate, grep, jmespath, parameters: sent, ...request }, call) {
      const wanted = {
        max_output,
        truncate,
        ...(grep !== undefined && grep !== '' && { grep }),
        ...(jmespath !== undefined && jmespath !== '' && { jmespath })
      }
      await checkExcerpt(wanted, selections)
      const { tool } = services.catalog.tool(request.skill_name, request.tool_name)
      const parameters = withClientInput(request.skill_name, tool, sent, call.client)
      const result = await execute.handler(services, { ...request, parameters }, call)
      const terms = termsOf(result.output, tool)
      const spoken = terms !== undefined && call.spoken(terms)
      const { output, note } = await excerpt(spoken ? textOf(terms) : result.output, wanted, selections)
      return {
        ...result,
        output,
        ...(note !== undefined && { note: `${note}; whole output: ${outputUri(result.execution_id)}` })
      }
    }
  })
}
