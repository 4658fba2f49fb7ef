import {
  ProtocolError, ProtocolErrorCode, ResourceNotFoundError, ResourceTemplate, UriTemplate, type CallToolResult,
  type InputRequiredResult, type McpServer, type ReadResourceResult, type ServerContext, type Variables
} from '@modelcontextprotocol/server'
import {
  getExecution, getSkill, SkilletError, splitInstance, splitTool, textOf, type Access
} from '../../../kernel/index.ts'
import { outputUri } from '../agent/execute.ts'
import { askingResult, isAsking } from './asking.ts'
import { callOf, callWithClient } from './call.ts'
import { contentOf, runTool } from './direct.ts'
import type { Host } from './host.ts'

/** Serves resources: outputs of executions, whole and in parts, and the tools that are shown as resources. */
export function addResources (server: McpServer, host: Host, access: Access | undefined): void {
  const description = 'Output of an execution, as execute gave its id; also what a failed one had put out'
  const uri = outputUri('{id}')
  const described = { description, mimeType: 'text/plain' }
  server.registerResource(
    'execution-output',
    new ResourceTemplate(uri, { list: undefined }),
    { title: 'Output of an execution', ...described },
    (address, { id }, ctx) => readOutput(address, id, undefined, undefined, ctx, host)
  )
  server.registerResource(
    'execution-output-part',
    new ResourceTemplate(`${uri}?offset={offset}&length={length}`, { list: undefined }),
    { title: 'Part of an output, in characters', ...described },
    (address, { id, offset, length }, ctx) => readOutput(address, id, offset, length, ctx, host)
  )
  for (const [address, target] of Object.entries(host.resources)) {
    const { skill_name, tool_name = '' } = splitTool(target)
    // Tools that the caller may not use, in no instance of their skill, are not listed.
    const may = splitInstance(skill_name).instance === undefined ? access?.allows?.ofSome : access?.allows
    if (may?.(skill_name, tool_name) !== false) addTool(server, address, target, host)
  }
}

/**
 * Adds a tool as a resource. Its description comes from the catalog, which shows it only to callers with the rights.
 */
function addTool (mcp: McpServer, address: string, target: string, host: Host): void {
  const metadata = { title: target, description: `What ${target} answers` }
  const read = (
    uri: URL,
    variables: Variables,
    ctx: ServerContext
  ): Promise<ReadResourceResult | InputRequiredResult> => readTool(uri, target, variables, ctx, mcp, host)
  if (UriTemplate.isTemplate(address)) {
    mcp.registerResource(address, new ResourceTemplate(address, { list: undefined }), metadata, read)
  } else {
    mcp.registerResource(target, new URL(address).href, metadata, (uri, ctx) => read(uri, {}, ctx))
  }
}

async function readTool (
  { href }: URL, target: string, variables: Variables, ctx: ServerContext, { server }: McpServer, host: Host
): Promise<ReadResourceResult | InputRequiredResult> {
  const { skill_name, tool_name = '' } = splitTool(target)
  const call = callWithClient(ctx, server, href)
  const { tools } = await host.gateway.invoke(getSkill, { name: skill_name }, call)
    .catch((): { tools: [] } => ({ tools: [] }))
  const tool = tools.find(({ name }) => name === tool_name)
  if (tool === undefined) throw new ResourceNotFoundError(href)
  const parameters = Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, decoded([value].flat().join(','))])
  )
  const { output, terms } = await runTool({ skill_name, tool_name, tool }, parameters, call, host.gateway)
  if (terms !== undefined && isAsking(terms)) return await askingResult(terms, href, ctx, host.states)
  const contents = contentOf(terms)?.flatMap(content => resourceOf(href, content))
  return { contents: contents ?? [{ uri: href, mimeType: 'text/plain', text: output }] }
}

/** A content of a tool's answer as a content of a resource; undefined for a link. */
function resourceOf (uri: string, content: CallToolResult['content'][number]): ReadResourceResult['contents'] {
  switch (content.type) {
    case 'text': return [{ uri, mimeType: 'text/plain', text: content.text }]
    case 'image':
    case 'audio': return [{ uri, mimeType: content.mimeType, blob: content.data }]
    case 'resource': return [content.resource]
    default: return []
  }
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The address has a malformed percent sign')
  }
}

type Value = string | string[] | undefined

async function readOutput (
  { href }: URL, id: Value, offset: Value, length: Value, ctx: ServerContext, host: Host
): Promise<ReadResourceResult> {
  const from = countOf(offset, 0)
  const count = countOf(length, Number.MAX_SAFE_INTEGER)
  if (from === undefined || count === undefined) throw new ResourceNotFoundError(href)
  try {
    const output = await outputOf(String(id), ctx, host)
    return { contents: [{ uri: href, mimeType: 'text/plain', text: output.slice(from, from + count).toWellFormed() }] }
  } catch (error) {
    if (error instanceof SkilletError && error.kind === 'missing') throw new ResourceNotFoundError(href)
    throw error
  }
}

/** The whole output of an execution; what there is of one that has not ended, or whose file is gone. */
async function outputOf (id: string, ctx: ServerContext, { gateway }: Host): Promise<string> {
  const call = callOf(ctx)
  const { output, output_file_bytes } = await gateway.invoke(getExecution, { id }, call)
  if (output_file_bytes === undefined) return output
  try {
    return await textOf(await gateway.outputs(call).open(id))
  } catch (error) {
    if (error instanceof SkilletError && error.code === 'OUTPUT_NOT_FOUND') return output
    throw error
  }
}

/** A whole number; undefined for any other value. */
function countOf (value: Value, absent: number): number | undefined {
  if (value === undefined) return absent
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}
