import { createMcpHandler, isJsonContentType, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server'
import { decodeJson, messageOf, type Call, type Config, type Gateway, type Logger } from '../../kernel/index.ts'
import { accessIn, authOf } from './call.ts'
import { Host } from './host.ts'
import { rpcError } from './rpc.ts'
import { Sessions } from './sessions.ts'
import { SseSessions } from './sse.ts'
import { declareHeaders } from './tools.ts'

/** Routes requests by revision: 2026-07-28 has a server a request, those of 2025 have sessions, 2024-11-05 has a stream of events beside its posts. */
export class McpOverHttp {
  readonly #host: Host
  readonly #modern: McpHttpHandler
  readonly #sessions: Sessions
  readonly #sse: SseSessions

  constructor (gateway: Gateway, config: Config, log: Logger) {
    const host = this.#host = new Host(gateway, config, log)
    const onerror = (error: Error): void => { log.debug({ error: messageOf(error) }, 'a message could not be served') }
    this.#modern = createMcpHandler(async ({ authInfo }) => {
      const server = host.createServer({ tracked: false })
      if (host.direct.any) declareHeaders(server, await host.direct.of({ access: accessIn(authInfo) }))
      return server
    }, { legacy: 'reject', onerror })
    this.#sessions = new Sessions(host)
    this.#sse = new SseSessions(host)
    host.onSkills = changed => {
      this.#modern.notify.resourcesChanged()
      this.#modern.notify.promptsChanged()
      if (host.direct.any) this.#modern.notify.toolsChanged()
      for (const uri of changed) this.#modern.notify.resourceUpdated(uri)
    }
  }

  async fetch (request: Request, call: Call): Promise<Response> {
    const { pathname } = new URL(request.url)
    const body = request.method === 'POST' && isJsonContentType(request.headers.get('content-type')) ? await readJson(request) : {}
    if ('refusal' in body) return body.refusal
    if (pathname === '/sse') return this.#sse.open(call)
    if (pathname === '/messages') return this.#sse.receive(request, body.parsedBody, call)
    const options = { ...body, authInfo: authOf(call) }
    if (await isLegacyRequest(request, body.parsedBody)) return await this.#sessions.fetch(request, options, call)
    return await this.#modern.fetch(request, options)
  }

  /** Ends all streams as soon as no call runs any more. */
  quiesce (): void {
    const end = (): void => { if (this.#host.running === 0) void this.close() }
    this.#host.onIdle = end
    end()
  }

  async close (): Promise<void> {
    this.#host.close()
    this.#sse.close()
    await Promise.all([this.#modern.close(), this.#sessions.close()])
  }
}

/** A body as the rest of the program reads bodies: bounded in depth, and nothing in it that could not be passed on. */
async function readJson (request: Request): Promise<{ parsedBody?: unknown } | { refusal: Response }> {
  try {
    return { parsedBody: decodeJson(new Uint8Array(await request.arrayBuffer())) }
  } catch (error) {
    return { refusal: rpcError(400, -32700, `Parse error: ${messageOf(error)}`) }
  }
}
