/** The time limit of a request, in milliseconds, and how often it is repeated where the server fails. */
const limit_ms = 30_000
const retries = 3

interface ClientOptions {
  baseUrl: string
  authType?: 'bearer' | 'basic' | 'api-key'
  tokenKey?: string
  headerName?: string
  headers?: Record<string, string>
}
interface Reply { ok: boolean, status: number, statusText: string, headers: Record<string, string>, data: unknown }
type Headers = Record<string, string>
interface RequestOptions { method?: string, url: string, headers?: Headers, body?: unknown, timeout?: number }
type Call = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

/** Sends a request. Resolves whatever the status is; rejects when there is no answer. */
export async function httpRequest (options: RequestOptions): Promise<Reply> {
  const { method = 'GET', url, headers = {}, body, timeout = limit_ms } = options
  const json = body !== undefined && typeof body !== 'string'
  const response = await fetch(url, {
    method,
    headers: { ...(json && { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(timeout),
    ...(body !== undefined && { body: json ? JSON.stringify(body) : body })
  })
  const text = await response.text()
  return {
    ok: response.ok,
    status: response.status,
    statusText: response.statusText,
    headers: Object.fromEntries(response.headers),
    data: parsed(text)
  }
}

/** A client that adds a token of the settings to each request. */
export function createAuthenticatedClient (
  options: ClientOptions
): Record<'get' | 'post' | 'put' | 'patch' | 'delete', Call> {
  const { baseUrl, headers: always = {} } = options
  const call = (method: string): Call => async (path, body, headers = {}) => {
    const url = `${baseUrl.replace(/\/$/, '')}${path.startsWith('/') ? path : `/${path}`}`
    const request = { method, url, body, headers: { ...always, ...authorization(options), ...headers } }
    for (let attempt = 1; ; attempt++) {
      const reply = await httpRequest(request).catch((error: unknown) => error)
      const failed = reply instanceof Error || (reply as Reply).status >= 500
      if (!failed || attempt > retries || method !== 'GET') {
        if (reply instanceof Error) throw reply
        return reply as Reply // `httpRequest` gives no other
      }
    }
  }
  return { get: call('GET'), post: call('POST'), put: call('PUT'), patch: call('PATCH'), delete: call('DELETE') }
}

function authorization ({ authType, tokenKey = 'TOKEN', headerName = 'X-API-Key' }: ClientOptions): Headers {
  const token = process.env[tokenKey.startsWith('SKILL_') ? tokenKey : `SKILL_${tokenKey.toUpperCase()}`]
  if (token === undefined || authType === undefined) return {}
  if (authType === 'api-key') return { [headerName]: token }
  return { authorization: authType === 'bearer' ? `Bearer ${token}` : `Basic ${Buffer.from(token).toString('base64')}` }
}

function parsed (text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
