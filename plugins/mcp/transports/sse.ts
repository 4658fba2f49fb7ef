import { randomUUID } from 'node:crypto'
import { parseJSONRPCMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { messageOf, type Call } from '../../../kernel/index.ts'
import { createServer } from '../server/create-server.ts'
import { rpcError } from '../server/rpc.ts'
import { authOf } from '../server/call.ts'
import type { Host } from '../server/host.ts'

/** How often a comment is sent on a quiet stream, in milliseconds, so that no proxy closes the stream as dead. */
const keepAlive_ms = 15_000

const encoder = new TextEncoder()

/**
 * The transport of revision 2024-11-05: a client reads one stream, and posts its messages to the URL that the stream
 * gives.
 */
export class SseSessions {
  readonly #host: Host
  readonly #streams = new Map<string, { stream: EventStream, key: string | undefined }>()

  constructor (host: Host) {
    this.#host = host
  }

  async open ({ access, signal }: Call): Promise<Response> {
    const stream = new EventStream()
    const server = createServer(this.#host, { access, tracked: true })
    const id = stream.sessionId
    this.#streams.set(id, { stream, key: access?.key })
    await server.connect(stream)
    const closed = stream.onclose
    stream.onclose = () => {
      this.#streams.delete(id)
      closed?.()
    }
    signal.addEventListener('abort', () => { void stream.close() }, { once: true })
    return new Response(stream.body, {
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
    })
  }

  receive (request: Request, message: unknown, call: Call): Response {
    const session = this.#streams.get(new URL(request.url).searchParams.get('sessionId') ?? '')
    if (session === undefined || session.key !== call.access?.key) return rpcError(404, -32_001, 'Session not found')
    try {
      session.stream.onmessage?.(parseJSONRPCMessage(message), { request, authInfo: authOf(call) })
    } catch (error) {
      return rpcError(400, -32_600, `Invalid Request: not a message of JSON-RPC 2.0, sent as application/json (${messageOf(error).slice(0, 200)})`)
    }
    return new Response('Accepted', { status: 202 })
  }
}

class EventStream implements Transport {
  onclose?: () => void
  onmessage?: Transport['onmessage']
  readonly sessionId = randomUUID()
  readonly body: ReadableStream<Uint8Array>
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #keepAlive: NodeJS.Timeout | undefined

  constructor () {
    this.body = new ReadableStream({
      start: controller => { this.#controller = controller },
      cancel: () => this.close()
    })
  }

  async start (): Promise<void> {
    this.#write(`event: endpoint\ndata: /messages?sessionId=${this.sessionId}\n\n`)
    this.#keepAlive = setInterval(() => { this.#write(': alive\n\n') }, keepAlive_ms).unref()
  }

  async send (message: JSONRPCMessage): Promise<void> {
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  }

  async close (): Promise<void> {
    const controller = this.#controller
    if (controller === undefined) return
    this.#controller = undefined
    clearInterval(this.#keepAlive)
    try {
      controller.close()
    } catch {} // the client cancelled the stream
    this.onclose?.()
  }

  #write (text: string): void {
    this.#controller?.enqueue(encoder.encode(text))
  }
}
