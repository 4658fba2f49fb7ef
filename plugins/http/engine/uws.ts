import { createServer } from 'node:net'
import { messageOf, type Canceller, type CancelSignal, type Logger } from '../../../kernel/index.ts'
import type { Bodies, Body, BodyCut } from './bodies.ts'
import {
  cancellerOf, ClientGone, linger_ms, lingerBytesMax, Pending, pump,
  type Close, type Engine, type Exchange, type HeaderBlock, type ListenOptions, type Server
} from './server.ts'
import { statusLine } from './status.ts'

/** The part of uWebSockets.js that is used. Its own types lack `listen` with a host and options. */
interface Uws {
  App (): App
  us_listen_socket_close (socket: ListenSocket): void
  us_socket_local_port (socket: ListenSocket): number
  LIBUS_LISTEN_EXCLUSIVE_PORT: number
}
interface ListenSocket { readonly brand?: 'us_listen_socket' }
interface App {
  get (pattern: string, handler: Handler): App
  post (pattern: string, handler: Handler): App
  any (pattern: string, handler: Handler): App
  listen (host: string, port: number, options: number, done: (socket: ListenSocket | false) => void): App
  close (): App
}
type Handler = (response: Response, request: Request) => void
/** Valid only until the handler returns. */
interface Request {
  getCaseSensitiveMethod (): string
  getUrl (): string
  getQuery (): string | undefined
  forEach (each: (name: string, value: string) => void): void
}
/** Valid until it was ended or aborted; any use after that throws. */
interface Response {
  writeStatus (status: ArrayBuffer): Response
  writeHeader (name: string, value: string): Response
  write (chunk: string | Uint8Array): boolean
  end (body?: string | Uint8Array, close?: boolean): Response
  endWithoutBody (length?: number, close?: boolean): Response
  tryEnd (chunk: Uint8Array, size: number): [ok: boolean, done: boolean]
  getWriteOffset (): number
  onWritable (handler: (offset: number) => boolean): Response
  onAborted (handler: () => void): Response
  onData (handler: (chunk: ArrayBuffer, last: boolean) => void): Response
  cork (write: () => void): Response
  close (): Response
  pause (): void
  getRemoteAddressAsText (): ArrayBuffer
}

/** Read by the addon when it is loaded; its default of 4 KiB is less than the cookies of a busy localhost. */
const headersMax = { variable: 'UWS_HTTP_MAX_HEADERS_SIZE', bytes: '16384' }

/** From this size on a body is sent as the client takes it, instead of being copied into the connection's buffer whole. */
const streamedBytes = 65_536
/** Up to this size the system takes a body at once, so that the connection can be closed right after it. */
const atOnceBytes = 8_192

/**
 * Packages of the registry with the addon's binaries, in the order they are tried. The first has them for Node 20 and 22 and runs with
 * glibc 2.27 and later; the second for Node 20, 22, 24 and 25, with glibc 2.38 and later. uWebSockets.js itself is not on the registry.
 */
const packages: readonly { name: string, load: () => Promise<unknown> }[] = [
  { name: 'uws-pack', load: () => import('uWebSockets.js') },
  { name: '@btc-vision/uwebsockets.js', load: () => import('@btc-vision/uwebsockets.js') }
]

/** Of replies given at once, all from this size on are watched, in bytes, and of smaller ones one of so many: it costs a tenth of a small request. */
const watching = { bytes: 4_096, every: 16 }
let unwatched = 0

/** Whether a reply of so many bytes must not be kept for a client that does not read. */
function isWatched (bytes: number): boolean {
  if (bytes < watching.bytes && ++unwatched < watching.every) return false
  unwatched = 0
  return true
}

/** Loads the addon. @throws Error where no package has a binary for this platform and Node */
export async function loadUws (): Promise<Engine> {
  const given = process.env[headersMax.variable]
  process.env[headersMax.variable] ??= headersMax.bytes
  const reasons: string[] = []
  try {
    for (const { name, load } of packages) {
      try {
        const uws = await load() as Uws // declared above, since its own types are incomplete
        return { name: 'uWebSockets.js', package: name, listen: options => listen(uws, options) }
      } catch (error) {
        reasons.push(`${name}: ${reasonOf(error)}`)
      }
    }
  } finally {
    if (given === undefined) delete process.env[headersMax.variable]
  }
  throw new Error(reasons.join('; '))
}

/** Behind a sentence about what it supports, the addon says what happened. */
function reasonOf (error: unknown): string {
  const lines = messageOf(error).split('\n')
  return (lines.find(line => line.startsWith('Error: ')) ?? lines[0] ?? '').replace(/^Error: /, '')
}

async function listen (uws: Uws, { host, port, handler, log }: ListenOptions): Promise<Server> {
  const pending = new Pending()
  const app = uws.App()
  const take = (method: string, response: Response, request: Request): void => {
    // A throw from here would end the process.
    const exchange = new UwsExchange(method, response, request, pending)
    try {
      handler(exchange)
    } catch (error) {
      abandon(exchange, error, log)
    }
    exchange.handled()
  }
  // The addon has compared the two usual methods already, to the letter; asking it for one costs as much as for the path.
  app.get('/*', (response, request) => { take('GET', response, request) })
  app.post('/*', (response, request) => { take('POST', response, request) })
  app.any('/*', (response, request) => { take(request.getCaseSensitiveMethod(), response, request) })
  // Without the option a second server could share the port (SO_REUSEPORT).
  const socket = await new Promise<ListenSocket | false>(resolve => { app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve) })
  if (socket === false) {
    app.close()
    throw new Error(await whyNot(host, port))
  }
  let accepting = true
  return {
    port: uws.us_socket_local_port(socket),
    refuse () {
      if (accepting) uws.us_listen_socket_close(socket)
      accepting = false
    },
    idle: () => pending.idle(),
    close () {
      accepting = false
      app.close()
    }
  }
}

function abandon (exchange: UwsExchange, error: unknown, log: Logger): void {
  log.error({ error: messageOf(error) }, 'a request handler threw')
  exchange.destroy()
}

/** uWebSockets.js does not say why it can't listen; node does, when asked for the same. */
function whyNot (host: string, port: number): Promise<string> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', error => { resolve(messageOf(error)) })
    probe.listen(port, host, () => { probe.close(() => { resolve('the address could not be bound') }) })
  })
}

// One request is parsed at a time, so that one callback and one variable serve all: no closure per request.
let collected: string[] = []
function collect (name: string, value: string): void {
  collected.push(name, value)
}

const none: HeaderBlock = []
const utf8 = new TextDecoder()
const encoder = new TextEncoder()

function linesOf (headers: HeaderBlock, from: number): string {
  let lines = ''
  for (let i = from; i < headers.length; i += 2) lines += `\r\n${headers[i]}: ${headers[i + 1]}`
  return lines
}

/** Blocks as the addon is given them, each with the status it was last sent with. */
const heads = new WeakMap<HeaderBlock, { readonly status: number, readonly bytes: ArrayBuffer }>()

/**
 * A status and a block as one line, which holds the others: the addon writes what it is given as it is, and each call of it costs
 * as much as the rest of a reply's head. As bytes, since it measures, copies and frees each string. Values come
 * from this plugin, or from headers of the request, which can't hold line ends.
 */
function headOf (status: number, headers: HeaderBlock): ArrayBuffer {
  const known = heads.get(headers)
  if (known?.status === status) return known.bytes
  const { buffer, byteOffset, byteLength } = encoder.encode(statusLine(status) + linesOf(headers, 0))
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength) // not a view of it, which takes the addon a call more
  heads.set(headers, { status, bytes })
  return bytes
}

class UwsExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HeaderBlock
  readonly #response: Response
  readonly #pending: Pending
  #handled = false
  #gone = false
  #replied = false
  #canceller: Canceller | undefined
  /** Undefined until somebody wants the body. */
  #receive: ((chunk: Uint8Array, last: boolean) => void) | undefined
  #body: Body | undefined
  #registered = false
  #received = false
  #onGone: (() => void) | undefined

  constructor (method: string, response: Response, request: Request, pending: Pending) {
    this.#response = response
    this.#pending = pending
    pending.begin()
    this.method = method
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    collected = []
    request.forEach(collect)
    this.headers = collected
  }

  /** The handler has returned: who answers later has to know of a client that leaves. Until then nothing can happen to it. */
  handled (): void {
    this.#handled = true
    if (!this.#gone) this.#response.onAborted(() => { this.#leave() })
  }

  get remote_address (): string {
    return this.#gone ? '' : utf8.decode(this.#response.getRemoteAddressAsText())
  }

  get signal (): CancelSignal {
    return this.#canceller ??= cancellerOf(this.#gone)
  }

  body (bodies: Bodies, whole: (bytes: Uint8Array) => void, failed: (error: BodyCut | ClientGone) => void): void {
    const body = this.#body = bodies.open(error => {
      this.#receive = this.#onGone = undefined
      failed(error)
    })
    this.#onGone = () => { failed(new ClientGone()) }
    this.#take((chunk, last) => {
      if (!last) return body.add(chunk)
      const bytes = body.end(chunk)
      if (bytes === undefined) return
      this.#onGone = undefined
      whole(bytes)
    })
  }

  reply (status: number, headers: HeaderBlock, body: string | Uint8Array, close: Close = 'keep', own: HeaderBlock = none): void {
    if (this.#gone || this.#replied) return
    this.#replied = true
    const bodyLeft = close === 'linger' && !this.#received && this.#expectsBody()
    if (bodyLeft || close === 'now') return this.#final(status, headers, own, body, close === 'linger')
    if (body.length >= streamedBytes && this.method !== 'HEAD') return this.#stream(status, headers, own, body, close)
    // What is written while the addon calls the handler goes as one; later it has to be asked for.
    if (this.#handled) this.#response.cork(() => { this.#whole(status, headers, body, close, own) })
    else this.#whole(status, headers, body, close, own)
  }

  #whole (status: number, headers: HeaderBlock, body: string | Uint8Array, close: Close, own: HeaderBlock): void {
    if (!this.#handled && close === 'keep' && body.length > 0 && this.method !== 'HEAD' && isWatched(body.length)) return this.#watched(status, headers, body, own)
    this.#head(status, headers, own)
    // endWithoutBody(length) waits for a body that never comes: the length is written by hand.
    if (status === 204 || status === 304) this.#response.endWithoutBody()
    else if (this.method === 'HEAD') this.#response.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody()
    else this.#response.end(body, close !== 'keep')
    this.#finish()
  }

  /**
   * A reply in the turn in which its request came, to a client that may send the next without reading: the addon would keep all of them.
   * What the system does not take of this one is not kept, and while it is not sent, the next request ends the connection.
   */
  #watched (status: number, headers: HeaderBlock, body: string | Uint8Array, own: HeaderBlock): void {
    const response = this.#response
    const bytes = typeof body === 'string' ? encoder.encode(body) : body
    this.#head(status, headers, own)
    if (response.tryEnd(bytes, bytes.length)[1]) return this.#finish()
    response.onWritable(offset => {
      const [ok, done] = response.tryEnd(bytes.subarray(offset), bytes.length)
      if (done) this.#finish()
      return ok
    })
  }

  stream (status: number, headers: HeaderBlock, preface: string, body: ReadableStream<Uint8Array>, close: Close = 'keep'): void {
    const reader = body.getReader()
    if (this.#gone || this.#replied) return void reader.cancel().catch(() => {})
    this.#replied = true
    const response = this.#response
    let drained: (() => void) | undefined
    this.#onGone = () => {
      reader.cancel().catch(() => {})
      drained?.()
    }
    reader.closed.catch(() => { if (!this.#gone) response.close() }) // it failed, maybe while the client takes nothing
    response.onWritable(() => {
      drained?.()
      return true
    })
    const send = async (piece: Uint8Array): Promise<boolean> => {
      if (this.#gone) return false
      let room = true
      response.cork(() => { room = response.write(piece) })
      if (!room) await new Promise<void>(resolve => { drained = resolve })
      return !this.#gone
    }
    const begin = async (): Promise<void> => {
      if (this.#gone) return
      if (close !== 'keep') response.pause()
      response.cork(() => {
        this.#head(status, headers, close === 'keep' ? none : ['Connection', 'close'])
        response.write(preface)
      })
      const whole = await pump(reader, send)
      if (this.#gone) return
      if (!whole) return void response.close()
      response.cork(() => { response.end(undefined, close !== 'keep') })
      this.#finish()
    }
    // Not before the addon has read on: with a reply that has not ended it closes instead of taking another request.
    if (close === 'now') setImmediate(begin)
    else void begin()
  }

  destroy (): void {
    if (this.#gone || this.#replied) return
    this.#response.close()
    this.#leave()
  }

  #expectsBody (): boolean {
    const { headers } = this
    for (let i = 0; i < headers.length; i += 2) {
      if (headers[i] === 'transfer-encoding' || (headers[i] === 'content-length' && headers[i + 1] !== '0')) return true
    }
    return false
  }

  #head (status: number, headers: HeaderBlock, own: HeaderBlock): void {
    const response = this.#response
    response.writeStatus(headOf(status, headers))
    if (own.length > 0) response.writeHeader(own[0] ?? '', (own[1] ?? '') + linesOf(own, 2))
  }

  /** Registers for the body once; later calls only change who takes it. */
  #take (receive: (chunk: Uint8Array, last: boolean) => void): void {
    this.#receive = receive
    if (this.#registered) return
    this.#registered = true
    this.#response.onData((chunk, last) => {
      this.#received = last
      this.#receive?.(new Uint8Array(chunk), last)
    })
  }

  /** Sends a body as fast as the client takes it; the rest waits here, uncopied. */
  #stream (status: number, headers: HeaderBlock, own: HeaderBlock, body: string | Uint8Array, close: Close): void {
    const response = this.#response
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const advance = (offset: number): boolean => {
      const [ok, done] = response.tryEnd(bytes.subarray(offset), bytes.length)
      if (done) this.#finish()
      return ok
    }
    response.cork(() => {
      this.#head(status, headers, own)
      if (close !== 'keep') response.writeHeader('Connection', 'close')
      if (!advance(0)) response.onWritable(offset => advance(offset))
    })
  }

  /**
   * The last reply of a connection. `end(…, true)` would close on unread data, and goes on with a request that came in the
   * same packet. So it is never ended: the addon takes no other request until it is, and closes instead. The addon ends what has
   * as many bytes as it is told at last; so the last byte is said to be followed by another.
   * @param linger reads and drops what the client still sends of its body; one that does not come to an end is cut off
   */
  #final (status: number, headers: HeaderBlock, own: HeaderBlock, body: string | Uint8Array, linger: boolean): void {
    const response = this.#response
    // One byte alone has none before it, and is given one behind.
    const bytes = body.length === 1 ? Buffer.from(`${body}\n`) : typeof body === 'string' ? Buffer.from(body) : body
    const cut = (): void => { if (!this.#gone) response.close() }
    const cutLater = (): void => {
      const timer = setTimeout(cut, linger_ms)
      this.#onGone = () => { clearTimeout(timer) }
    }
    if (linger) {
      let dropped = 0
      cutLater()
      this.#take((chunk, last) => { if (last || (dropped += chunk.byteLength) > lingerBytesMax) setImmediate(cut) })
    } else response.pause() // nothing that follows is read
    const sent = (): void => {
      if (linger) return
      if (bytes.length < atOnceBytes) setImmediate(cut)
      else cutLater()
    }
    const advance = (offset: number): boolean => {
      const last = bytes.length - 1
      if (offset > last) return true
      if (offset < last && !response.tryEnd(bytes.subarray(offset, last), bytes.length)[0]) return false
      const [ok] = response.tryEnd(bytes.subarray(last), bytes.length + 1)
      if (ok) sent()
      return ok
    }
    response.cork(() => {
      this.#head(status, headers, own)
      if (this.method === 'HEAD' || status === 204 || status === 304 || bytes.length === 0) {
        // Nothing follows the head: the line end behind its last header is the empty line.
        const length = status === 204 || status === 304 ? '' : `Content-Length: ${bytes.length}\r\n`
        response.writeHeader('Connection', `close\r\n${length}`)
        sent()
      } else {
        response.writeHeader('Connection', 'close')
        if (!advance(0)) response.onWritable(offset => advance(offset))
      }
    })
  }

  #leave (): void {
    if (this.#gone) return
    this.#finish()
    this.#onGone?.()
    this.#canceller?.abort()
  }

  /** Nothing may touch the response from here on. */
  #finish (): void {
    if (this.#gone) return
    this.#gone = true
    this.#body?.release()
    this.#pending.end()
  }
}
