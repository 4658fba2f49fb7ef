import {
  ProtocolError, ProtocolErrorCode, type CallToolResult, type McpServer, type Tool
} from '@modelcontextprotocol/server'
import type { TObject } from 'typebox'
import { agentParameters, didYouMean, isObject, SkilletError, type JsonObject } from '../../../kernel/index.ts'
import { callableFor, type AgentCall, type AgentTool, type ClientCall } from '../agent/agent-tool.ts'
import { cut } from '../agent/excerpt.ts'
import { outputUri } from '../agent/execute.ts'
import { withoutNulls } from '../agent/near-misses.ts'
import { termsOf, type Terms } from '../agent/terms.ts'
import { contentOf, executeDirect, type DirectTool } from './direct.ts'
import { failureOf } from './failures.ts'
import { askingResult, isAsking } from './asking.ts'
import { callOf, callWithClient } from './call.ts'
import type { Host } from './host.ts'
import { modelSchema } from './model-schema.ts'

/** Clients refuse a `/` in listed names; but calls of names with this prefix are accepted. */
const fullName = 'skillet/'

/** The longest answer of a directly exposed tool, in characters: clients refuse results over 25,000 tokens. */
const outputMax = 20_000

/** Serves the tools for agents, and the tools that the configuration exposes. */
export function addTools ({ server }: McpServer, host: Host, running: (change: 1 | -1) => void): void {
  server.setRequestHandler('tools/list', async (_request, ctx) => {
    const direct = await host.direct.of(callOf(ctx))
    return { tools: [...host.tools.map(described), ...[...direct].map(([name, tool]) => describedDirect(name, tool))] }
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, ctx) => {
    const call = callWithClient(ctx, server, [name, input])
    // The check writes default values into the input, so it gets a copy.
    const { agent, run } = await runnerOf(name, structuredClone(input), call, server, host)
    running(1)
    const report = host.reports.begin(ctx, name)
    let terms: Terms | undefined
    const reported: AgentCall = {
      ...call,
      accepted: id => { report.follow(id) },
      spoken (answer) {
        if (isAsking(answer) || contentOf(answer) !== undefined) terms = answer
        return terms !== undefined
      }
    }
    try {
      const result = await run(reported)
      if (terms !== undefined && isAsking(terms)) return await askingResult(terms, [name, input], ctx, host.states)
      return terms === undefined ? result : withContent(result, contentOf(terms) ?? [], agent)
    } catch (error) {
      return await failureOf(SkilletError.from(error), agent, call, host)
    } finally {
      await report.end()
      running(-1)
    }
  })
}

/**
 * The function that runs a call of a tool, and the agents' tool if it is one.
 * @throws ProtocolError when no such tool exists
 */
async function runnerOf (
  name: string, input: JsonObject, call: ClientCall, server: McpServer['server'], host: Host
): Promise<{ agent: AgentTool | undefined, run: (call: AgentCall) => Promise<CallToolResult> }> {
  const bare = name.startsWith(fullName) ? name.slice(fullName.length) : name
  const agent = host.tools.find(tool => tool.name === bare)
  if (agent !== undefined) {
    const run = async (call: AgentCall): Promise<CallToolResult> => {
      const output = await host.gateway.invoke(callableFor(agent, call), withoutNulls(agent.input, input), call)
      return answerOf(output, links(server.getNegotiatedProtocolVersion()))
    }
    return { agent, run }
  }
  const direct = await host.direct.of(call)
  const tool = direct.get(name)
  if (tool !== undefined) {
    return { agent, run: call => callDirect(tool, withoutNulls(tool.tool.input_schema, input), call, host) }
  }
  const nearest = didYouMean(bare, [...host.tools.map(({ name }) => name), ...direct.keys()])
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 256)}${nearest}`)
}

/** Adds the contents of a tool, such as images, to a result. The result of an agents' tool already has the text. */
function withContent (
  result: CallToolResult,
  content: CallToolResult['content'],
  agent: AgentTool | undefined
): CallToolResult {
  if (agent !== undefined) {
    return { ...result, content: [...result.content, ...content.filter(({ type }) => type !== 'text')] }
  }
  return { content: content.map(
    block => block.type === 'text' ? { ...block, text: cut(block.text, outputMax, 'head') } : block
  ) }
}

function described ({ name, title, description, input, output, effect }: AgentTool): Tool {
  return {
    name,
    title,
    description,
    inputSchema: modelSchema(schemaOf(input)) as Tool['inputSchema'],
    outputSchema: schemaOf(output),
    annotations: effect === 'read'
      ? { readOnlyHint: true, openWorldHint: false }
      : { readOnlyHint: false, destructiveHint: true, openWorldHint: true }
  }
}

/** A schema as plain JSON, without TypeBox's own fields. */
function schemaOf ({ type, properties, required }: TObject): Tool['inputSchema'] {
  return JSON.parse(JSON.stringify({ type, properties, required })) as Tool['inputSchema']
}

/** Whether a revision has links in results; clients of older revisions refuse unknown contents. */
function links (version: string | undefined): boolean {
  return version !== undefined && version >= '2025-06-18'
}

function answerOf (output: JsonObject, withLinks: boolean): CallToolResult {
  const { execution_id, note } = output
  const content: CallToolResult['content'] = [{ type: 'text', text: JSON.stringify(output) }]
  if (withLinks && typeof execution_id === 'string' && note !== undefined) content.push(linkTo(execution_id))
  return { content, structuredContent: output }
}

function linkTo (execution_id: string): CallToolResult['content'][number] {
  return {
    type: 'resource_link',
    uri: outputUri(execution_id),
    name: 'Whole output',
    description: 'Parts: add ?offset=N&length=N, in characters',
    mimeType: 'text/plain'
  }
}

function describedDirect (name: string, { skill_name, tool_name, tool }: DirectTool): Tool {
  const properties = isObject(tool.input_schema['properties']) ? tool.input_schema['properties'] : {}
  const own = Object.fromEntries(agentParameters(tool).map(({ name, mcp_header }) =>
    // Every parameter has a schema.
    [name, { ...properties[name] as JsonObject, ...(mcp_header !== undefined && { 'x-mcp-header': mcp_header }) }]))
  // The input schema is always an object schema.
  const inputSchema = modelSchema({ ...tool.input_schema, properties: own }) as Tool['inputSchema']
  return { name, title: `${skill_name}: ${tool_name}`, description: tool.description, inputSchema }
}

/** Lets the SDK check the headers that repeat parameters: it checks them only for tools that are registered with it. */
export function declareHeaders (server: McpServer, direct: ReadonlyMap<string, DirectTool>): void {
  server.toolInputSchemaJson = name => {
    const tool = direct.get(name)
    return tool === undefined ? undefined : describedDirect(name, tool).inputSchema
  }
}

async function callDirect (
  direct: DirectTool, parameters: JsonObject, call: AgentCall, host: Host
): Promise<CallToolResult> {
  const { execution_id, output } = await executeDirect(direct, parameters, call, host.gateway)
  const terms = termsOf(output, direct.tool)
  if (terms !== undefined && call.spoken(terms)) return { content: [] }
  const text = cut(output, outputMax, 'head')
  return {
    content: [{ type: 'text', text: text === output ? text : `${text}\nwhole output: ${outputUri(execution_id)}` }]
  }
}
