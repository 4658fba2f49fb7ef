import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { JsonObject } from '../../kernel/index.ts'

/** An MCP server elsewhere, by Streamable HTTP, which counts what it is asked. */
export interface RemoteServer {
  url: string
  /** How often each method was called. */
  counts: Record<string, number>
  /** The sessions that are open. */
  sessions: Set<string>
  tools: string[]
  /** The status for a session that it does not know. */
  unknown: number
  /** Tells all clients that the list of tools changed. */
  changed (): void
  /** Forgets all sessions, as at a restart. */
  restart (): void
}

/** Starts one, which ends with the test. */
export async function startRemote (t: Test): Promise<RemoteServer> {
  const streams = new Set<ServerResponse>()
  const remote: RemoteServer = {
    url: '', counts: {}, sessions: new Set(), tools: ['echo'], unknown: 404,
    changed () {
      for (const stream of streams) {
        stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`)
      }
    },
    restart () {
      remote.sessions.clear()
      for (const stream of streams) stream.destroy()
    }
  }
  const server = createServer((request, reply) => { void answer(request, reply, remote, streams) })
  t.teardown(() => { server.close(); server.closeAllConnections() })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  remote.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` // of a server that listens on a port
  return remote
}

async function answer (
  request: IncomingMessage, reply: ServerResponse, remote: RemoteServer, streams: Set<ServerResponse>
): Promise<void> {
  const session = String(request.headers['mcp-session-id'] ?? '')
  const count = (what: string): void => { remote.counts[what] = (remote.counts[what] ?? 0) + 1 }
  if (request.method !== 'POST') {
    count(request.method ?? '')
    if (!remote.sessions.has(session)) return void reply.writeHead(404).end()
    if (request.method === 'DELETE') {
      remote.sessions.delete(session)
      return void reply.writeHead(204).end()
    }
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    streams.add(reply)
    reply.on('close', () => { streams.delete(reply) })
    return
  }
  const { id, method, params = {} } =
    JSON.parse(await text(request)) as { id?: unknown, method: string, params?: JsonObject }
  count(method)
  const send = (content: JsonObject, headers: Record<string, string> = {}): void => {
    reply.writeHead(200, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...content }))
  }
  if (method === 'initialize') {
    const own = randomUUID()
    remote.sessions.add(own)
    return send({ result: {
      protocolVersion: params['protocolVersion'], capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'remote', version: '1' }
    } }, { 'mcp-session-id': own })
  }
  if (method === 'server/discover') return send({ error: { code: -32_601, message: 'no such method' } })
  if (!remote.sessions.has(session)) return void reply.writeHead(remote.unknown).end()
  if (id === undefined) return void reply.writeHead(202).end()
  const tools = remote.tools.map(name => ({ name, inputSchema: { type: 'object' } }))
  send({ result: method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'said' }] } })
}
