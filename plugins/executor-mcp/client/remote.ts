import {
  SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport, type Transport
} from '@modelcontextprotocol/client'
import { hasCode, messageOf } from '../../../kernel/index.ts'

export interface RemoteServer { url: string, headers: Readonly<Record<string, string>> }

/** The status codes by which servers that only know the older transport refuse the first message. */
const olderTransport = new Set([400, 404, 405])

/** A connection by Streamable HTTP. Redirects are followed within the origin only, since headers may hold secrets. */
export function streamable ({ url, headers }: RemoteServer): Transport {
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } })
}

/** A connection by HTTP with server-sent events, which older servers speak. */
export function serverSentEvents ({ url, headers }: RemoteServer): Transport {
  return new SSEClientTransport(new URL(url), { requestInit: { headers: { ...headers } } })
}

/** Whether a refusal of Streamable HTTP can mean that the server knows the older transport only. */
export function mayBeOlder (error: unknown): boolean {
  return [...causesOf(error)].some(cause => cause instanceof SdkHttpError && olderTransport.has(cause.status))
}

/** Why a server elsewhere could not be reached, in one line, with what to do. */
export function remoteFault (error: unknown, { url }: RemoteServer): string {
  const { origin } = new URL(url)
  for (const cause of causesOf(error)) {
    if (cause instanceof SdkHttpError && (cause.status === 401 || cause.status === 403)) {
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
