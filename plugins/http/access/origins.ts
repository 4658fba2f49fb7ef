/** The methods, request headers and reply headers that pages of other origins may use. */
const requestHeaders = 'content-type, authorization, x-api-key, prefer, idempotency-key, range, if-range, if-none-match, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name'
const exposedHeaders = 'Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, Allow, Content-Range, ETag, WWW-Authenticate, Mcp-Session-Id'
const preflightAge_s = 600
/** The number of parameter headers that one preflight may name: a tool has no more parameters. */
const parameterHeadersMax = 64

/**
 * Decides which web pages may call the server. A request without an Origin header does not come from a page of another
 * origin.
 */
export class Origins {
  readonly #exact = new Set<string>()
  readonly #local: boolean
  readonly #any: boolean

  /** @throws Error naming an entry that is not an origin, or `*` without authentication */
  constructor (entries: readonly string[], auth_required: boolean) {
    this.#local = entries.includes('local')
    this.#any = entries.includes('*')
    if (this.#any && !auth_required) {
      throw new Error('server.cors_origins may hold "*" only with server.auth_required: any web page could run tools otherwise')
    }
    for (const entry of entries) {
      if (entry === 'local' || entry === '*') continue
      const url = parse(entry)
      if (url === undefined) {
        throw new Error(`server.cors_origins: "${entry}" is no origin; write it such as "https://example.com", "local" or "*"`)
      }
      this.#exact.add(url.origin)
    }
  }

  /** @param host the Host header of the request, which was already checked to name this server */
  allows (origin: string, host: string): boolean {
    if (this.#any || this.#exact.has(origin)) return true
    const url = parse(origin)
    if (url === undefined) return false
    // The server's own pages. The port matters: another server on this machine is another origin.
    if (url.host === host.toLowerCase()) return true
    return this.#local && (url.hostname === 'localhost' || url.hostname === '127.0.0.1' || url.hostname === '[::1]')
  }
}

/** The headers that allow a page of an allowed origin to read a reply. */
export function corsHeaders (origin: string): string[] {
  return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposedHeaders]
}

/**
 * @param requestedHeaders the names of the headers that the page wants to send; parameters of tools have headers with
 * names of their own
 */
export function preflightHeaders (methods: string, requestedHeaders = ''): string[] {
  const ofParameters = requestedHeaders.split(',')
    .map(name => name.trim())
    .filter(name => /^mcp-param-[\w!#$%&'*+.^`|~-]{1,64}$/i.test(name))
  return [
    'Access-Control-Allow-Methods', methods,
    'Access-Control-Allow-Headers', [requestHeaders, ...ofParameters.slice(0, parameterHeadersMax)].join(', '),
    'Access-Control-Max-Age', String(preflightAge_s)
  ]
}

/** Reads an http(s) origin. A text with a path or a user is not an origin. */
function parse (origin: string): URL | undefined {
  let url
  try {
    url = new URL(origin)
  } catch {
    return undefined
  }
  const whole = (url.protocol === 'http:' || url.protocol === 'https:') && url.origin === origin.toLowerCase()
  return whole ? url : undefined
}
