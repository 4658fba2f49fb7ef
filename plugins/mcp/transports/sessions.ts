import { randomUUID } from 'node:crypto'
import { isInitializeRequest, type AuthInfo } from '@modelcontextprotocol/server'
import { abortSignalOf, SkilletError, type EndpointCall } from '../../../kernel/index.ts'
import { createServer } from '../server/create-server.ts'
import { RecentEvents, ByteBudget } from './events.ts'
import { rpcError } from '../server/rpc.ts'
import type { Host } from '../server/host.ts'
import { SessionTransport } from './session-transport.ts'

/** The number of sessions at the same time, in total and for one caller; above it, idle sessions are closed. */
const sessionsMax = { all: 2_000, caller: 500 }
/** How long a session may be idle, and how often this is checked, in milliseconds. */
const idle = { max_ms: 30 * 60_000, check_ms: 60_000 }
/** The byte budget for recent messages of all sessions, which are kept for clients that lost their connection. */
const keptBytesMax = 64 * 1_048_576

/** The interval after which a client that lost its connection should reconnect, in milliseconds. */
const retry_ms = 1_000

interface Session {
  readonly transport: SessionTransport
  readonly events: RecentEvents
  readonly close: () => Promise<void>
  /** The name of the key that opened the session: only requests with this key find it. */
  readonly key: string | undefined
  /** The caller whose sessions include this one. */
  caller: string
  running: number
  used_ms: number
  /** The stream for messages that belong to no request; it is aborted when the client closes it. */
  stream: AbortSignal | undefined
}

/** The sessions of clients of 2025. */
export class Sessions {
  readonly #host: Host
  readonly #sessions = new Map<string, Session>()
  /** The sessions of each caller; the last used session is last. */
  readonly #callers = new Map<string, Set<Session>>()
  readonly #budget = new ByteBudget(keptBytesMax)
  readonly #check: NodeJS.Timeout

  constructor (host: Host) {
    this.#host = host
    this.#check = setInterval(() => { this.#closeIdle(performance.now() - idle.max_ms) }, idle.check_ms).unref()
  }

  async fetch (
    request: Request,
    options: { parsedBody?: unknown, authInfo: AuthInfo },
    call: EndpointCall
  ): Promise<Response> {
    const { access, caller, signal } = call
    const id = request.headers.get('mcp-session-id')
    if (id === null) {
      if (isInitializeRequest(options.parsedBody)) return await this.#open(request, options, call)
      return rpcError(400, -32_000, 'Bad Request: a session begins with initialize; what follows carries its Mcp-Session-Id')
    }
    const session = this.#sessions.get(id)
    if (session === undefined || session.key !== access?.key) return rpcError(404, -32_001, 'Session not found')
    session.used_ms = performance.now()
    this.#used(session, caller)
    const last = request.headers.get('last-event-id')
    // Clients up to 1.x of the SDK send this request after every error; a stream that ends at once would make them
    // repeat it.
    if (last !== null && session.events.isLast(last)) {
      return rpcError(405, -32_000, 'Nothing follows this event: it was an answer')
    }
    if (request.method === 'GET') session.stream = abortSignalOf(signal)
    if (Array.isArray(options.parsedBody)) session.transport.expectBatch(request, call)
    return await session.transport.handleRequest(request, options)
  }

  /** Stops the check for idle sessions; the host closes the sessions. */
  close (): void {
    clearInterval(this.#check)
  }

  async #open (
    request: Request,
    options: { parsedBody?: unknown, authInfo: AuthInfo },
    { access, caller }: EndpointCall
  ): Promise<Response> {
    this.#makeRoom(caller)
    const events = new RecentEvents(this.#budget)
    const transport = new SessionTransport({
      sessionIdGenerator: randomUUID,
      eventStore: events,
      retryInterval: retry_ms,
      onsessioninitialized: id => {
        this.#sessions.set(id, session)
        this.#used(session, caller)
      }
    })
    const server = createServer(this.#host, { access, tracked: true, running: change => { session.running += change } })
    const session: Session = {
      transport, events, close: () => server.close(), key: access?.key, caller, running: 0,
      used_ms: performance.now(), stream: undefined
    }
    await server.connect(transport)
    transport.takeBatches()
    const closed = transport.onclose
    transport.onclose = () => {
      closed?.()
      events.clear()
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
      this.#forget(session)
    }
    const response = await transport.handleRequest(request, options)
    if (transport.sessionId === undefined) await server.close() // the SDK refused the request
    return response
  }

  /** Makes a session the last used one of its caller. The address of the caller may have changed. */
  #used (session: Session, caller: string): void {
    this.#forget(session)
    session.caller = caller
    const own = this.#callers.get(caller)
    if (own === undefined) this.#callers.set(caller, new Set([session]))
    else own.add(session)
  }

  #forget (session: Session): void {
    const own = this.#callers.get(session.caller)
    if (own?.delete(session) === true && own.size === 0) this.#callers.delete(session.caller)
  }

  #closeIdle (before_ms: number): void {
    for (const session of this.#sessions.values()) {
      if (isIdle(session) && session.used_ms < before_ms) void session.close()
    }
  }

  /**
   * Closes an idle session where there are too many. A caller at the limit of one caller loses the session that was
   * idle longest. When there are too many in total, the caller with the most sessions loses one. So a caller with few
   * sessions never loses one to a caller with many.
   * @throws SkilletError OVERLOADED where no session is idle
   */
  #makeRoom (caller: string): void {
    const own = this.#callers.get(caller)
    if (own !== undefined && own.size >= sessionsMax.caller) {
      if (!closeOldest(own)) {
        throw new SkilletError('OVERLOADED', `You have ${own.size} sessions in use, which is as many as one caller may have; close some`)
      }
    } else if (this.#sessions.size >= sessionsMax.all) {
      const [most] = [...this.#callers.values()].sort((a, b) => b.size - a.size)
      if (most === undefined || !closeOldest(most)) {
        throw new SkilletError('OVERLOADED', `${sessionsMax.all} sessions are in use; try again later`)
      }
    }
  }
}

/** @returns whether there was an idle session */
function closeOldest (sessions: ReadonlySet<Session>): boolean {
  for (const session of sessions) {
    if (!isIdle(session)) continue
    void session.close()
    return true
  }
  return false
}

function isIdle ({ running, stream }: Session): boolean {
  return running === 0 && stream?.aborted !== false
}
