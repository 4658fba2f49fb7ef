import {
  UnauthorizedError, type OAuthClientProvider, SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport,
    type Transport
} from '@modelcontextprotocol/client'
import { hasCode, messageOf } from '../../../kernel/index.ts'

export interface RemoteServer {
  /** The name of the skill. */
  name: string
  url: string
  headers: Readonly<Record<string, string>>
  /** What a login left. */
  oauth: OAuthClientProvider | undefined
}

/** A way to a server elsewhere. */
export interface RemoteTransport extends Transport {
  /** Tells the server that the session is over, where it has sessions. */
  terminateSession? (): Promise<void>
}

/** The status codes by which servers that only know the older transport refuse the first message. */
const olderTransport = new Set([400, 404, 405])

/** A connection by Streamable HTTP. Redirects are followed within the origin only, since headers may hold secrets. */
export function streamable (server: RemoteServer): RemoteTransport {
  return new StreamableHTTPClientTransport(new URL(server.url), optionsOf(server))
}

/** A connection by HTTP with server-sent events, which older servers speak. */
export function serverSentEvents (server: RemoteServer): RemoteTransport {
  return new SSEClientTransport(new URL(server.url), optionsOf(server))
}

function optionsOf ({ headers, oauth }: RemoteServer): {
  requestInit: { headers: Record<string, string> }, authProvider?: OAuthClientProvider
} {
  return { requestInit: { headers: { ...headers } }, ...(oauth !== undefined && { authProvider: oauth }) }
}

/** Whether a server wants a login, or the last one is not valid any more. */
export function wantsLogin (error: unknown): boolean {
  return [...causesOf(error)].some(cause =>
    UnauthorizedError.isInstance(cause) || (cause instanceof SdkHttpError && cause.status === 401))
}

/**
 * Why a server did not take a call: it does not know the session, as after a restart, or is not there. Some servers
 * answer 400 to a session that they do not know, although 404 is meant for that: then it is not certain.
 * @returns undefined when it has another reason
 */
export function sessionFault (
  error: unknown, { url }: Pick<RemoteServer, 'url'>
): { text: string, isCertain: boolean } | undefined {
  const { origin } = new URL(url)
  for (const cause of causesOf(error)) {
    if (hasCode(cause, 'ECONNREFUSED')) {
      return { text: `nothing listens at ${origin}; is the server running?`, isCertain: false }
    }
    if (cause instanceof SdkHttpError && (cause.status === 400 || cause.status === 404)) {
      const text = `${origin} answers ${cause.status}, as servers do that were restarted and do not know the session; the next call begins another one`
      return { text, isCertain: cause.status === 404 }
    }
  }
  return undefined
}

/** Whether a refusal of Streamable HTTP can mean that the server knows the older transport only. */
export function mayBeOlder (error: unknown): boolean {
  return [...causesOf(error)].some(cause => cause instanceof SdkHttpError && olderTransport.has(cause.status))
}

/** Why a server elsewhere could not be reached, in one line, with what to do. */
export function remoteFault (error: unknown, { name, url }: Pick<RemoteServer, 'name' | 'url'>): string {
  const { origin } = new URL(url)
  if (wantsLogin(error)) {
    return `${origin} answers 401: log in (skillet login ${name}), or give credentials in headers of [mcp], from a secret`
  }
  for (const cause of causesOf(error)) {
    if (cause instanceof SdkHttpError && cause.status === 403) {
      return `${origin} answers ${cause.status}: it wants other credentials; give them in headers of [mcp], from a secret`
    }
    if (cause instanceof SdkHttpError) return `${origin} answers ${cause.status}; is its url right?`
    if (hasCode(cause, 'ECONNREFUSED')) return `nothing listens at ${origin}; is the server running?`
    if (hasCode(cause, 'ENOTFOUND', 'EAI_AGAIN')) return `the name in ${origin} is unknown; is its url right?`
  }
  return `${origin}: ${messageOf(error).split('\n', 1)[0] ?? ''}`
}

function * causesOf (error: unknown): Generator<unknown> {
  for (let depth = 0, cause = error; depth < 8 && cause instanceof Error; depth++, cause = cause.cause) {
    yield cause
    if (
      'data' in cause && typeof cause.data === 'object' && cause.data !== null && 'cause' in cause.data
    ) yield cause.data.cause
  }
}
