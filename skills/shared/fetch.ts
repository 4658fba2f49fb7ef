import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Allowed } from './addresses.ts'
import { open } from './connect.ts'

/** The largest head of a reply, in bytes. */
const headBytesMax = 32_768
/** How many bytes more may come than are kept: what compresses badly is longer than it was. */
const slackBytes = 65_536

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

export interface Fetched {
  /** Where the reply came from, after redirects. */
  url: string
  status: number
  status_text: string
  headers: Record<string, string>
  body: Buffer
  /** Whether the body is longer than what was kept. */
  truncated: boolean
  /** The URLs that redirected. */
  redirects: string[]
}

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

type Reply = Pick<Fetched, 'status' | 'status_text' | 'headers' | 'body' | 'truncated'>

/** One request on a connection of its own; `next` is where the reply sends to. */
async function fetchOne (
  url: URL, headers: Record<string, string>, options: FetchOptions, signal: AbortSignal
): Promise<{ reply: Reply, next?: URL }> {
  const socket = await open(url, options.allowed, signal)
  const abort = (): void => { socket.destroy() }
  signal.addEventListener('abort', abort, { once: true })
  try {
    const response = await ask(url, headers, options.method, socket)
    const { statusCode: status = 0, statusMessage: status_text = '' } = response
    const { location } = response.headers
    if (options.redirects_max > 0 && [301, 302, 303, 307, 308].includes(status) && location !== undefined) {
      return {
        reply: { status, status_text, headers: {}, body: Buffer.alloc(0), truncated: false },
        next: urlOf(location, url)
      }
    }
    const { body, truncated } = options.method === 'HEAD'
      ? { body: Buffer.alloc(0), truncated: false }
      : await bodyOf(response, options.bytes_max)
    return { reply: { status, status_text, headers: flat(response), body, truncated } }
  } finally {
    signal.removeEventListener('abort', abort)
    socket.on('error', () => {}).destroy()
  }
}

async function ask (
  url: URL, headers: Record<string, string>, method: string, socket: Socket
): Promise<IncomingMessage> {
  const asked = request({
    method,
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: {
      host: url.host, 'user-agent': 'Skillet', accept: '*/*', 'accept-encoding': 'gzip, br', ...headers,
      connection: 'close'
    },
    createConnection: () => socket,
    maxHeaderSize: headBytesMax
  })
  const answered = once(asked, 'response') as Promise<[IncomingMessage]> // what that event has
  asked.end()
  const [response] = await answered
  asked.on('error', () => {}) // the reply tells of what happens from here on
  return response
}

/**
 * Reads a body, decompressed as it comes, until there is enough of it. What decompresses to very much is never held.
 */
async function bodyOf (response: IncomingMessage, bytes_max: number): Promise<{ body: Buffer, truncated: boolean }> {
  const chunks: Buffer[] = []
  let left = bytes_max
  for await (const chunk of decompressed(response, bytes_max) as AsyncIterable<Buffer>) { // streams of bytes give these
    chunks.push(chunk.subarray(0, left))
    if (chunk.length > left) return { body: Buffer.concat(chunks), truncated: true }
    left -= chunk.length
  }
  return { body: Buffer.concat(chunks), truncated: false }
}

function decompressed (response: IncomingMessage, bytes_max: number): Readable {
  const coding = (response.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (coding === '' || coding === 'identity') return response
  const create = decoders[coding]
  if (create === undefined) throw new Error(`its body is compressed by "${short(coding)}", which was not asked for`)
  const decoder = create()
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    // Compressed nothing can go on for ever.
    if (bytes > bytes_max + slackBytes) decoder.destroy(new Error('its compressed body is longer than what is in it'))
  })
  response.on('error', error => { decoder.destroy(error) })
  return response.pipe(decoder)
}

const decoders: Record<string, () => ReturnType<typeof createGunzip>> = {
  gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress
}

function flat ({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value])
  )
}

const meanings: Record<string, string> = {
  ENOTFOUND: 'its host does not exist',
  EAI_AGAIN: 'the name of its host can\'t be looked up now',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'its host can\'t be reached',
  ENETUNREACH: 'its host can\'t be reached',
  HPE_HEADER_OVERFLOW: `the head of its reply is longer than ${headBytesMax} bytes`
}

/** An error in words. Those of several addresses come as one without a message. */
function explain (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const code = first instanceof Error && 'code' in first ? String(first.code) : ''
  return meanings[code] ?? (first instanceof Error ? first.message : String(first))
}

function short (text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
