import { createMcpHandler, isJsonContentType, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server'
import {
  decodeJson, isObject, messageOf, type Config, type EndpointCall, type Gateway, type JsonObject, type Logger
} from '../../../kernel/index.ts'
import { createServer } from '../server/create-server.ts'
import { accessIn, authOf } from '../server/call.ts'
import type { Connections } from '../server/connections.ts'
import { Host } from '../server/host.ts'
import { StreamPlaces } from './places.ts'
import { rpcError } from '../server/rpc.ts'
import { Sessions } from './sessions.ts'
import { SseSessions } from './sse.ts'
import { listenWithTasks } from '../tasks/listen.ts'
import { withinRights } from '../server/subscriptions.ts'
import { declareHeaders } from '../server/described.ts'
import { boundUnread } from './unread.ts'

/**
 * Routes requests by revision: 2026-07-28 has a server for each request, those of 2025 have sessions, and 2024-11-05
 * has a stream of events beside its posts.
 */
export class McpOverHttp {
  readonly #host: Host
  readonly #log: Logger
  /** The handlers for 2026 clients: one for all clients with the same rights, since they get the same notifications. */
  readonly #modern = new WeakMap<Connections, McpHttpHandler>()
  readonly #sessions: Sessions
  readonly #sse: SseSessions
  readonly #places = new StreamPlaces()

  constructor (gateway: Gateway, config: Config, log: Logger) {
    this.#log = log
    this.#host = new Host(gateway, config, log)
    this.#sessions = new Sessions(this.#host)
    this.#sse = new SseSessions(this.#host)
  }

  async fetch (request: Request, call: EndpointCall): Promise<Response> {
    const { pathname } = new URL(request.url)
    const body = request.method === 'POST' && isJsonContentType(request.headers.get('content-type'))
      ? await readJson(request)
      : {}
    if ('refusal' in body) return body.refusal
    const { parsedBody } = body
    if (pathname === '/sse') return await this.#stream(call, () => this.#sse.open(call))
    if (pathname === '/messages') return this.#sse.receive(request, parsedBody, call)
    const options = { ...body, authInfo: authOf(call) }
    if (await isLegacyRequest(request, parsedBody)) {
      return boundUnread(await this.#sessions.fetch(request, options, call))
    }
    const modern = this.#modernOf(call)
    if (!isObject(parsedBody) || parsedBody['method'] !== 'subscriptions/listen') {
      return boundUnread(await modern.fetch(request, options))
    }
    const allowedBody = await withinRights(parsedBody, call, this.#host.gateway)
    const listen = (body: JsonObject): Promise<Response> => modern.fetch(request, { ...options, parsedBody: body })
    return await this.#stream(call, () => listenWithTasks(allowedBody, call, this.#host, listen))
  }

  /** Ends all streams as soon as no call runs any more. */
  quiesce (): void {
    const end = (): void => { if (this.#host.running === 0) void this.close() }
    this.#host.onIdle = end
    end()
  }

  async close (): Promise<void> {
    const closed = this.#host.close()
    this.#sessions.close()
    await this.#host.end()
    await closed
  }

  /**
   * Opens a long-lived stream, if its caller may have another one.
   * @throws SkilletError OVERLOADED
   */
  async #stream ({ caller }: EndpointCall, open: () => Promise<Response>): Promise<Response> {
    const leave = this.#places.take(caller)
    try {
      return boundUnread(await open(), leave)
    } catch (error) {
      leave()
      throw error
    }
  }

  #modernOf ({ access }: EndpointCall): McpHttpHandler {
    const connections = this.#host.of(access)
    let handler = this.#modern.get(connections)
    if (handler === undefined) this.#modern.set(connections, handler = this.#createModern(connections))
    return handler
  }

  #createModern (connections: Connections): McpHttpHandler {
    const host = this.#host
    const onerror = (
      error: Error
    ): void => { this.#log.debug({ error: messageOf(error) }, 'a message could not be served') }
    const handler = createMcpHandler(async ({ authInfo }) => {
      const access = accessIn(authInfo)
      const server = createServer(host, { access, tracked: false })
      if (host.direct.any) declareHeaders(server, await host.direct.of({ access }))
      return server
    }, { legacy: 'reject', onerror })
    connections.onSkills = changed => {
      handler.notify.resourcesChanged()
      handler.notify.promptsChanged()
      if (host.direct.any) handler.notify.toolsChanged()
      for (const uri of changed) handler.notify.resourceUpdated(uri)
    }
    connections.onEnd = () => handler.close()
    return handler
  }
}

/** Reads a JSON body with the program's usual rules: bounded depth, and no values that could not be passed on. */
async function readJson (request: Request): Promise<{ parsedBody?: unknown } | { refusal: Response }> {
  try {
    return { parsedBody: decodeJson(new Uint8Array(await request.arrayBuffer())) }
  } catch (error) {
    return { refusal: rpcError(400, -32700, `Parse error: ${messageOf(error)}`) }
  }
}
