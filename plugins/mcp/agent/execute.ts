import { Type, type Static } from 'typebox'
import {
  execute, SkilletError, type JsonObject, type schemas, type Selections, type Services, type Tool
} from '../../../kernel/index.ts'
import { agentTool, type AgentCall, type ClientCall, type Run, type RunningTool } from './agent-tool.ts'
import { withClientInput } from './client-input.ts'
import { checkExcerpt, excerpt, ExcerptWanted } from './excerpt.ts'
import { correctCall, parametersJson } from './near-misses.ts'
import { runOf } from './run-of.ts'
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

const Result = Type.Object({
  execution_id: Type.String(),
  status: Type.String(),
  output: Type.String(),
  duration_ms: Type.Integer(),
  note: Type.Optional(Type.String({ description: 'What was cut or selected' }))
})

/** A run with the part of its output that an agent wants. */
type AgentRun = Run & { view: Readonly<ExcerptWanted> }

/** The texts of a tool for agents that runs tools, and what it runs. */
interface Wording extends Pick<RunningTool, 'name' | 'title' | 'description' | 'annotations' | 'isBrief' | 'example'> {
  /** @throws SkilletError when it does not run a tool of a skill */
  admit (skill_name: string, tool: Pick<Tool, 'name' | 'annotations'>): void
}

/**
 * Runs a tool of a skill.
 * @param selections apply the agents' expressions to the output of the tool
 */
export function executeForAgents (selections: Pick<Selections, 'select'>): RunningTool {
  return runningTool(selections, {
    name: 'execute',
    title: 'Run a tool of a skill',
    description: 'Run one tool of a skill and get its output. Find the tool with search_skills first: it gives the exact names and parameters. For tools that are read_only, use query instead. After an error, correct what its message names and call again. To pass an output on without reading it, give {"$from": "execution://ID/output"} as a parameter, with "select": a JMESPath query for a part. Keep long output short with grep, jmespath or max_output; what was cut is linked as a resource.',
    annotations: { read_only: false, destructive: true, open_world: true },
    example: { skill_name: 'text', tool_name: 'count', parameters: { text: 'Hello, world' } },
    admit () {}
  })
}

/**
 * Runs a tool that declares itself read-only. Clients that ask their user before each call need not ask for this one.
 * @param selections as for `executeForAgents`
 */
export function queryForAgents (selections: Pick<Selections, 'select'>): RunningTool {
  return runningTool(selections, {
    name: 'query',
    title: 'Run a tool that only reads',
    description: 'Run one tool of a skill that is read_only, as search_skills says, and get its output. Its arguments are those of execute. It refuses all other tools: run those with execute.',
    annotations: { read_only: true, open_world: true },
    isBrief: true,
    example: { skill_name: 'text', tool_name: 'count', parameters: { text: 'Hello, world' } },
    admit (skill, { name: tool, annotations }) {
      if (annotations?.read_only === true) return
      const message = `${skill}:${tool} does not declare that it only reads, so query does not run it; call execute with the same arguments`
      throw new SkilletError('FORBIDDEN', message, { skill, tool })
    }
  })
}

function runningTool (selections: Pick<Selections, 'select'>, { admit, ...wording }: Wording): RunningTool {
  const begin = async (services: Services, input: Static<typeof Call>, call: ClientCall): Promise<AgentRun> => {
    const { max_output, truncate, grep, jmespath, parameters: sent, ...request } = input
    const view = {
      max_output,
      truncate,
      ...(grep !== undefined && grep !== '' && { grep }),
      ...(jmespath !== undefined && jmespath !== '' && { jmespath })
    }
    await checkExcerpt(view, selections)
    const { skill, tool } = services.catalog.tool(request.skill_name, request.tool_name)
    admit(skill.name, tool)
    const parameters = withClientInput(request.skill_name, tool, sent, call.client)
    const run = { ...request, ...runOf(call, tool), parameters }
    return { result: await execute.handler(services, run, call), view }
  }
  const tool = agentTool({
    ...wording,
    effect: 'write',
    input: Call,
    output: Result,
    correct: ({ catalog }, input) => correctCall(catalog, input),
    async handler (services, input, call) {
      const { result, view } = await begin(services, input, call)
      const { tool } = services.catalog.tool(input.skill_name, input.tool_name)
      return await viewOf(result, view, tool, selections, call.spoken)
    }
  })
  // The gateway has checked the input by the schema above.
  return { ...tool, begin: (services, input, call) => begin(services, input as Static<typeof Call>, call) }
}

/** The result of a run as its agent wants to see it. @param spoken handles the terms of MCP in the output */
export async function viewOf (
  result: schemas.ExecuteResult, view: Readonly<ExcerptWanted>, tool: Pick<Tool, 'parameters'>,
  selections: Pick<Selections, 'select'>, spoken: AgentCall['spoken']
): Promise<Static<typeof Result>> {
  const terms = termsOf(result.output, tool)
  const { output, note } = await excerpt(
    terms !== undefined && spoken(terms) ? textOf(terms) : result.output, view, selections
  )
  return {
    ...result,
    output,
    ...(note !== undefined && { note: `${note}; whole output: ${outputUri(result.execution_id)}` })
  }
}
