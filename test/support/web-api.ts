import type { IncomingMessage } from 'node:http'
import type { JsonObject, SkillDefinition, ToolDefinition } from '../../kernel/index.ts'
import { httpOf, readApi } from '../../plugins/toolkit/openapi/read-api.ts'
import { startWebServer, type WebServer } from './web-server.ts'

/** A document with these paths. */
export function documentOf (paths: JsonObject, further: JsonObject = {}): JsonObject {
  return { openapi: '3.1.0', info: { title: 'Test', version: '1' }, paths, ...further }
}

/** A parameter of a document. */
export function parameter (name: string, place: string, schema: JsonObject = {}, further: JsonObject = {}): JsonObject {
  return { name, in: place, schema, ...(place === 'path' && { required: true }), ...further }
}

/** A request body of a document. */
export function bodyOf (type: string, schema: JsonObject, further: JsonObject = {}): JsonObject {
  return { requestBody: { required: true, content: { [type]: { schema } }, ...further } }
}

/** The tools of a document, by name. */
export function toolsIn (document: JsonObject, http: JsonObject = {}): Record<string, ToolDefinition> {
  const { tools } = readApi(JSON.stringify(document), httpOf({ server: 'https://api.example', ...http }))
  return Object.fromEntries(tools.map(tool => [tool.name, tool]))
}

/** A skill with the tools of a document. */
export function skillOf (
  tools: Record<string, ToolDefinition>,
  secrets: string[] = [],
  read?: string[]
): SkillDefinition {
  return {
    name: 'subject',
    description: 'd',
    runtime: 'http',
    directory: '/',
    revision: '1',
    trusted: false,
    permissions: { network: true, write: [], env: [], secrets, ...(read !== undefined && { read }) },
    tools: Object.values(tools)
  }
}

/** The body of a request. */
export async function receive (request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** What a server was sent. */
export interface Arrived {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: Buffer
}

/** A server that remembers what arrives, and answers `{}`. */
export async function startRecorder (): Promise<WebServer & { arrived: Arrived[] }> {
  const arrived: Arrived[] = []
  const server = await startWebServer((request, response) => {
    void (async () => {
      const body = await receive(request)
      const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s, 2)
      arrived.push({
        method: request.method ?? '',
        path,
        query: new URLSearchParams(query),
        headers: request.headers,
        body
      })
      response.setHeader('content-type', 'application/json').end('{}')
    })()
  })
  return { ...server, arrived }
}
