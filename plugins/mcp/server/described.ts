import type { McpServer, Tool, ToolAnnotations as ProtocolAnnotations } from '@modelcontextprotocol/server'
import type { TObject } from 'typebox'
import { agentParameters, isObject, type JsonObject, type ToolAnnotations } from '../../../kernel/index.ts'
import type { AgentTool } from '../agent/agent-tool.ts'
import type { DirectTool } from './direct-tool.ts'
import { modelSchema } from './model-schema.ts'

/** The longest description that clients take whole, in characters. */
const descriptionMax = 2_048

/** Tells clients that cut the results of tools how much of one to keep: as much as they let a server ask for. */
const resultSize = { 'anthropic/maxResultSizeChars': 500_000 }

/** A tool for agents, as a list of tools shows it. */
export function described ({ name, title, description, input, output, annotations, isBrief = false }: AgentTool): Tool {
  return {
    name,
    title,
    description,
    inputSchema: modelSchema(schemaOf(input, isBrief)) as Tool['inputSchema'],
    outputSchema: schemaOf(output, isBrief),
    annotations: hintsOf(annotations),
    _meta: resultSize
  }
}

/** A schema as plain JSON, without TypeBox's own fields. @param isBrief leaves out the descriptions of its fields */
function schemaOf ({ type, properties, required }: TObject, isBrief: boolean): Tool['inputSchema'] {
  const schema = JSON.parse(JSON.stringify({ type, properties, required })) as Tool['inputSchema']
  if (!isBrief) return schema
  for (const field of Object.values(schema.properties ?? {})) if (isObject(field)) delete field['description']
  return schema
}

/** A skill's tool that is shown as a tool of its own. */
export function describedDirect (name: string, { skill_name, tool_name, tool }: DirectTool): Tool {
  const properties = isObject(tool.input_schema['properties']) ? tool.input_schema['properties'] : {}
  const own = Object.fromEntries(agentParameters(tool).map(({ name, mcp_header }) =>
    // Every parameter has a schema.
    [name, { ...properties[name] as JsonObject, ...(mcp_header !== undefined && { 'x-mcp-header': mcp_header }) }]))
  // The input schema is always an object schema.
  const inputSchema = modelSchema({ ...tool.input_schema, properties: own }) as Tool['inputSchema']
  const { annotations } = tool
  return {
    name, title: `${skill_name}: ${tool_name}`, description: shortened(tool.description), inputSchema,
    ...(annotations !== undefined && { annotations: hintsOf(annotations) }),
    _meta: resultSize
  }
}

function shortened (text: string): string {
  return text.length <= descriptionMax ? text : `${text.slice(0, descriptionMax - 2)} …`.toWellFormed()
}

/** The annotations of a tool as MCP names them. */
function hintsOf ({ read_only, destructive, idempotent, open_world }: ToolAnnotations): ProtocolAnnotations {
  return {
    ...(read_only !== undefined && { readOnlyHint: read_only }),
    ...(destructive !== undefined && { destructiveHint: destructive }),
    ...(idempotent !== undefined && { idempotentHint: idempotent }),
    ...(open_world !== undefined && { openWorldHint: open_world })
  }
}

/** Lets the SDK check the headers that repeat parameters: it checks them only for tools that are registered with it. */
export function declareHeaders (server: McpServer, direct: ReadonlyMap<string, DirectTool>): void {
  server.toolInputSchemaJson = name => {
    const tool = direct.get(name)
    return tool === undefined ? undefined : describedDirect(name, tool).inputSchema
  }
}
