import { randomUUID } from 'node:crypto'
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport, type AuthInfo } from '@modelcontextprotocol/server'
import { abortSignalOf, SkilletError, type Call } from '../../kernel/index.ts'
import { RecentEvents, Room } from './events.ts'
import { rpcError } from './rpc.ts'
import type { Host } from './host.ts'

/** Sessions at once; beyond it, those that are idle make way. */
const sessionsMax = 1_000
/** How long a session may be idle, and how often that is looked at, in milliseconds. */
const idle = { max_ms: 30 * 60_000, check_ms: 60_000 }
/** What all sessions keep of what was sent, for clients that lost their connection, in bytes. */
const keptBytesMax = 64 * 1_048_576

/** After what time a client that lost its connection should ask again, in milliseconds. */
const retry_ms = 1_000

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly events: RecentEvents
  readonly close: () => Promise<void>
  /** Name of the key that opened it: nobody else finds it. */
  readonly key: string | undefined
  running: number
  used_ms: number
  /** Its stream for what belongs to no request, aborted when the client let go of it. */
  stream: AbortSignal | undefined
}

/** The sessions of clients of 2025. */
export class Sessions {
  readonly #host: Host
  readonly #sessions = new Map<string, Session>()
  readonly #room = new Room(keptBytesMax)
  readonly #check: NodeJS.Timeout

  constructor (host: Host) {
    this.#host = host
    this.#check = setInterval(() => { this.#closeIdle(performance.now() - idle.max_ms) }, idle.check_ms).unref()
  }

  async fetch (request: Request, options: { parsedBody?: unknown, authInfo: AuthInfo }, { access, signal }: Call): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) {
      if (isInitializeRequest(options.parsedBody)) return await this.#open(request, options, access?.key)
      return rpcError(400, -32_000, 'Bad Request: a session begins with initialize; what follows carries its Mcp-Session-Id')
    }
    const session = this.#sessions.get(id)
    if (session === undefined || session.key !== access?.key) return rpcError(404, -32_001, 'Session not found')
    session.used_ms = performance.now()
    this.#sessions.delete(id)
    this.#sessions.set(id, session) // the last one used is last
    const last = request.headers.get('last-event-id')
    // Clients up to 1.x of the SDK ask so after every error; a stream that ends at once would make them ask again.
    if (last !== null && session.events.isLast(last)) return rpcError(405, -32_000, 'Nothing follows this event: it was an answer')
    if (request.method === 'GET') session.stream = abortSignalOf(signal)
    return await session.transport.handleRequest(request, options)
  }

  async close (): Promise<void> {
    clearInterval(this.#check)
    await Promise.all([...this.#sessions.values()].map(session => session.close()))
  }

  async #open (request: Request, options: { parsedBody?: unknown, authInfo: AuthInfo }, key: string | undefined): Promise<Response> {
    if (this.#sessions.size >= sessionsMax && !this.#closeOldest()) throw new SkilletError('OVERLOADED', `${sessionsMax} sessions are in use; try again later`)
    const events = new RecentEvents(this.#room)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: events,
      retryInterval: retry_ms,
      onsessioninitialized: id => { this.#sessions.set(id, session) }
    })
    const server = this.#host.createServer({ tracked: true, running: change => { session.running += change } })
    const session: Session = { transport, events, close: () => server.close(), key, running: 0, used_ms: performance.now(), stream: undefined }
    await server.connect(transport)
    const closed = transport.onclose
    transport.onclose = () => {
      closed?.()
      events.clear()
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    }
    const response = await transport.handleRequest(request, options)
    if (transport.sessionId === undefined) await server.close() // it was refused
    return response
  }

  #closeIdle (before_ms: number): void {
    for (const session of this.#sessions.values()) if (isIdle(session) && session.used_ms < before_ms) void session.close()
  }

  /** @returns whether there was one that is idle */
  #closeOldest (): boolean {
    for (const session of this.#sessions.values()) {
      if (!isIdle(session)) continue
      void session.close()
      return true
    }
    return false
  }
}

function isIdle ({ running, stream }: Session): boolean {
  return running === 0 && stream?.aborted !== false
}
