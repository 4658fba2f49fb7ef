import type { Allowed } from '../../plugins/toolkit/net/addresses.ts'
import { explain, redirectStatuses, send, type Head, type Reply } from '../../plugins/toolkit/net/request.ts'

export interface FetchOptions {
  method: 'GET' | 'HEAD'
  /** Sent to the URL's own origin only; `accept` and `accept-language` also to where it redirects. */
  headers: Readonly<Record<string, string>>
  allowed: Allowed
  /** Redirects that are followed. With 0, one is given as it is. */
  redirects_max: number
  /** Bytes of the body that are kept, after decompression. */
  bytes_max: number
  /** How long all of it may take, in milliseconds. */
  timeout_ms: number
  signal: AbortSignal
}

export interface Fetched extends Reply {
  /** Where the reply came from, after redirects. */
  url: string
  /** The URLs that redirected. */
  redirects: string[]
}

export { Allowed } from '../../plugins/toolkit/net/addresses.ts'

/** Headers that say how a message travels, or for whom; they are not the caller's to set. */
const own = new Set([
  'host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'te', 'trailer', 'upgrade', 'expect',
  'keep-alive', 'via', 'forwarded'
])
/** Headers that tell nothing in confidence. */
const harmless = new Set(['accept', 'accept-language'])

/**
 * Fetches a URL. No place that is this machine or a private network is reached unless it is allowed, neither by its
 * address, nor by name, nor by a redirect.
 * @throws Error naming the URL
 */
export async function fetchUrl (text: string, options: FetchOptions): Promise<Fetched> {
  const limit = AbortSignal.timeout(options.timeout_ms)
  const signal = AbortSignal.any([options.signal, limit])
  let url = urlOf(text)
  let headers = headersOf(options.headers)
  const redirects: string[] = []
  try {
    for (;;) {
      const { reply, next } = await fetchOne(url, headers, options, signal)
      if (next === undefined) return { ...reply, url: url.href, redirects }
      if (redirects.length === options.redirects_max) {
        throw new Error(`it redirects more than ${options.redirects_max} times, the last time to ${next.href}`)
      }
      redirects.push(url.href)
      if (next.origin !== url.origin) {
        headers = Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name)))
      }
      url = next
    }
  } catch (error) {
    options.signal.throwIfAborted()
    const why = limit.aborted ? `it took longer than ${options.timeout_ms} ms` : explain(error)
    throw new Error(`${short(url.href)} can't be fetched: ${why}`, { cause: error })
  }
}

/** @throws Error when it is no URL that is fetched */
function urlOf (text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new Error(`"${short(text)}" is no URL, such as https://example.org/page`)
  const url = new URL(text, base?.href)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error(`${short(url.href)} is not fetched: only http and https are`)
  }
  // They would be kept in histories and logs, and go where a redirect says.
  if (url.username !== '' || url.password !== '') {
    throw new Error(`a URL with a name or password in it is not fetched (${url.host})`)
  }
  url.hash = ''
  return url
}

function headersOf (given: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase()
    if (own.has(lower) || lower.startsWith('proxy-')) throw new Error(`the header "${name}" can't be set`)
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/.test(lower)) {
      throw new Error(`"${short(name)}" can't be the name of a header`)
    }
    if (!/^[\t\x20-\x7e]*$/.test(value)) {
      throw new Error(`the value of the header "${name}" has characters that a header can't have`)
    }
    headers[lower] = value
  }
  return headers
}

/** One request; `next` is where the reply sends to. */
async function fetchOne (
  url: URL, headers: Record<string, string>, options: FetchOptions, signal: AbortSignal
): Promise<{ reply: Reply, next?: URL }> {
  const { method, allowed, bytes_max, redirects_max } = options
  const follows = ({ status, headers: { location } }: Head): boolean =>
    redirects_max > 0 && redirectStatuses.has(status) && location !== undefined
  const reply = await send(url, { method, headers, allowed, bytes_max, signal }, follows)
  return follows(reply) ? { reply, next: urlOf(reply.headers['location'] ?? '', url) } : { reply }
}

function short (text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
