import { ResourceNotFoundError, ResourceTemplate, type McpServer, type ReadResourceResult, type ServerContext } from '@modelcontextprotocol/server'
import { getExecution, outputUri, SkilletError } from '../../kernel/index.ts'
import { callOf } from './call.ts'
import type { Host } from './host.ts'

/** Serves what can be read: outputs of executions, whole and in parts. */
export function addResources (server: McpServer, host: Host): void {
  const description = 'Output of an execution, as execute gave its id; also what a failed one had put out'
  const uri = outputUri('{id}')
  const described = { description, mimeType: 'text/plain' }
  server.registerResource('execution-output', new ResourceTemplate(uri, { list: undefined }), { title: 'Output of an execution', ...described },
    (found, { id }, ctx) => readOutput(found, id, undefined, undefined, ctx, host))
  server.registerResource('execution-output-part', new ResourceTemplate(`${uri}?offset={offset}&length={length}`, { list: undefined }), { title: 'Part of an output, in characters', ...described },
    (found, { id, offset, length }, ctx) => readOutput(found, id, offset, length, ctx, host))
}

type Value = string | string[] | undefined

async function readOutput ({ href }: URL, id: Value, offset: Value, length: Value, ctx: ServerContext, host: Host): Promise<ReadResourceResult> {
  const from = countOf(offset, 0)
  const count = countOf(length, Number.MAX_SAFE_INTEGER)
  if (from === undefined || count === undefined) throw new ResourceNotFoundError(href)
  try {
    const { output } = await host.gateway.invoke(getExecution, { id: String(id) }, callOf(ctx))
    return { contents: [{ uri: href, mimeType: 'text/plain', text: output.slice(from, from + count).toWellFormed() }] }
  } catch (error) {
    if (error instanceof SkilletError && error.kind === 'missing') throw new ResourceNotFoundError(href)
    throw error
  }
}

/** A whole number, or undefined for what is none. */
function countOf (value: Value, absent: number): number | undefined {
  if (value === undefined) return absent
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}
