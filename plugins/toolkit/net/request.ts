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

export interface Request {
  method: string
  /** Names in lower case; neither they nor their values are checked here. */
  headers: Readonly<Record<string, string>>
  /** What is sent as the body; none where absent. */
  body?: Buffer
  allowed: Allowed
  /** Bytes of the reply's body that are kept, after decompression. */
  bytes_max: number
  signal: AbortSignal
}

/** The statuses with which a reply sends to another place. */
export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The head of a reply; several headers of a name are joined by commas. */
export interface Head { status: number, headers: Record<string, string> }

export interface Reply extends Head {
  status_text: string
  body: Buffer
  /** Whether the body is longer than what was kept. */
  truncated: boolean
}

/**
 * Sends one request on a connection of its own, to an address that may be reached. Redirects are replies like others.
 * @param headOnly whether the body of a reply is not read
 * @throws Error that `explain` puts in words
 */
export async function send (
  url: URL, options: Request, headOnly: (head: Head) => boolean = () => false
): Promise<Reply> {
  const { method, signal, bytes_max } = options
  const socket = await open(url, options.allowed, signal)
  const abort = (): void => { socket.destroy() }
  signal.addEventListener('abort', abort, { once: true })
  try {
    const response = await ask(url, options, socket)
    const { statusCode: status = 0, statusMessage: status_text = '' } = response
    const head: Head = { status, headers: flat(response) }
    const { body, truncated } = method === 'HEAD' || headOnly(head)
      ? { body: Buffer.alloc(0), truncated: false }
      : await bodyOf(response, bytes_max)
    return { ...head, status_text, body, truncated }
  } finally {
    signal.removeEventListener('abort', abort)
    socket.on('error', () => {}).destroy()
  }
}

async function ask (url: URL, { headers, method, body }: Request, socket: Socket): Promise<IncomingMessage> {
  const asked = request({
    method,
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: {
      host: url.host, 'user-agent': 'Skillet', accept: '*/*', 'accept-encoding': 'gzip, br', ...headers,
      ...(body !== undefined && { 'content-length': String(body.length) }), connection: 'close'
    },
    createConnection: () => socket,
    maxHeaderSize: headBytesMax
  })
  const answered = once(asked, 'response') as Promise<[IncomingMessage]> // what that event has
  asked.end(body)
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

/** An error of `send` in words. Those of several addresses come as one without a message. */
export function explain (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const code = first instanceof Error && 'code' in first ? String(first.code) : ''
  return meanings[code] ?? (first instanceof Error ? first.message : String(first))
}

function short (text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
