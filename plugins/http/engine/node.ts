import { createServer, type IncomingMessage, type Server as NodeServer, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { messageOf, type Canceller, type CancelSignal } from '../../../kernel/index.ts'
import type { Bodies, Body, BodyCut } from './bodies.ts'
import { headOf } from './node-head.ts'
import { Request, serveWebSockets } from './node-web-socket.ts'
import {
  cancellerOf, ClientGone, linger_ms, lingerBytesMax, Pending, pump,
  type Close, type Engine, type Exchange, type HeaderBlock, type ListenOptions, type Server
} from './server.ts'
import { statusLine } from './status.ts'

/**
 * The engine for platforms where uWebSockets.js has no binary. Its time limits are equal or close to those of
 * uWebSockets.js.
 */
export const nodeEngine: Engine = { name: 'node:http', listen }

/** The time for the head of a request, for an idle connection, and between Node's checks of both, in milliseconds. */
const times = { headersTimeout: 10_000, keepAliveTimeout: 10_000, connectionsCheckingInterval: 2_000 }
/**
 * How long a client may read nothing of its replies before its connection is closed, in milliseconds. It differs from
 * `keepAliveTimeout`, because the timeout of a socket shows which of the two is set.
 */
const untaken_ms = 11_000

/** The state of a connection. */
interface Connection {
  /** The number of requests that were not answered yet. */
  owed: number
  /** The last reply was sent: no reply may follow. */
  ended: boolean
  /** Bytes that are not HTTP came after its requests. */
  broken: boolean
}

const connections = new WeakMap<Duplex, Connection>()

function connectionOf (socket: Duplex): Connection {
  let connection = connections.get(socket)
  if (connection === undefined) connections.set(socket, connection = { owed: 0, ended: false, broken: false })
  return connection
}

async function listen (options: ListenOptions): Promise<Server> {
  const { host, port, log } = options
  const pending = new Pending()
  const requestTimeout = Math.max(options.request_timeout_ms, times.headersTimeout)
  // The handler refuses a request without a Host header, with its own error.
  const settings =
    { ...times, requestTimeout, requireHostHeader: false, insecureHTTPParser: false, IncomingMessage: Request }
  const server = createServer(settings, (request, response) => { take(request, response, options, pending) })
  serveWebSockets(server, options, pending, socket => connectionOf(socket).owed > 0)
  server.on('clientError', (_error, socket) => {
    const connection = connectionOf(socket)
    connection.broken = true
    // Pending replies are sent first: otherwise the client would take this reply for one of them.
    if (connection.owed === 0 || connection.ended) refuseMalformed(socket, options.malformed)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', error => { log.error({ error: messageOf(error) }, 'the HTTP server has a fault') })
  return {
    port: portOf(server),
    refuse () { server.close() },
    idle: () => pending.idle(),
    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}

/** Passes a request to the handler. */
function take (request: IncomingMessage, response: ServerResponse, options: ListenOptions, pending: Pending): void {
  const connection = connectionOf(request.socket)
  connection.owed++
  response.once('close', () => {
    if (--connection.owed === 0 && connection.broken) refuseMalformed(request.socket, options.malformed)
  })
  const exchange = new NodeExchange(request, response, connection, pending)
  try {
    options.handler(exchange)
  } catch (error) {
    options.log.error({ error: messageOf(error) }, 'a request handler threw')
    request.destroy()
  }
}

function portOf (server: NodeServer): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

function refuseMalformed (socket: Duplex, { status, headers, body }: ListenOptions['malformed']): void {
  if (!socket.writable || socket.destroyed) return
  const connection = connectionOf(socket)
  if (connection.ended) return void socket.end(() => { socket.destroy() })
  connection.ended = true
  let head = `HTTP/1.1 ${statusLine(status)}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  socket.end(`${head}\r\n${body}`, () => { socket.destroy() })
}

class NodeExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HeaderBlock
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #connection: Connection
  #gone = false
  #body: Body | undefined
  #canceller: Canceller | undefined
  #onGone: (() => void) | undefined

  constructor (request: IncomingMessage, response: ServerResponse, connection: Connection, pending: Pending) {
    this.#request = request
    this.#response = response
    this.#connection = connection
    pending.begin()
    request.on('error', () => {}) // the response's `close` event reports it
    response.on('error', () => {})
    response.on('close', () => {
      this.#gone = true
      this.#body?.release()
      pending.end()
      if (response.writableFinished) return
      this.#onGone?.()
      this.#canceller?.abort()
    })
    const { method, path, query, headers } = headOf(request)
    this.method = method
    this.path = path
    this.query = query
    this.headers = headers
  }

  get remote_address (): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  get signal (): CancelSignal {
    return this.#canceller ??= cancellerOf(this.#gone)
  }

  body (bodies: Bodies, whole: (bytes: Uint8Array) => void, failed: (error: BodyCut | ClientGone) => void): void {
    const request = this.#request
    const take = (chunk: Buffer): void => { body.add(chunk) }
    const end = (): void => {
      const bytes = body.end(new Uint8Array())
      if (bytes === undefined) return
      this.#onGone = undefined
      whole(bytes)
    }
    const body = this.#body = bodies.open(error => {
      request.off('data', take)
      this.#onGone = undefined
      failed(error)
    })
    this.#onGone = () => { failed(new ClientGone()) }
    request.on('data', take)
    request.once('end', end)
  }

  reply (
    status: number, headers: HeaderBlock, body: string | Uint8Array, close: Close = 'keep', own: HeaderBlock = []
  ): void {
    const response = this.#response
    if (this.#gone || response.headersSent) return
    const block = [...headers, ...own]
    if (close !== 'keep') this.#connection.ended = true
    if (close === 'linger' && !this.#request.complete) return this.#refuse(status, block, body)
    if (close !== 'keep') block.push('Connection', 'close')
    if (status !== 204 && status !== 304) block.push('Content-Length', String(Buffer.byteLength(body)))
    response.writeHead(status, block)
    response.once('finish', () => { this.#closeUntaken() })
    response.end(this.method === 'HEAD' ? undefined : body)
    this.#closeUntaken()
  }

  /**
   * Closes the connection of a client that reads nothing of its pending reply. While no bytes are pending there is no
   * timeout, since a tool may run longer.
   */
  #closeUntaken (): void {
    const { socket } = this.#request
    if (socket.writableLength > 0) socket.setTimeout(untaken_ms)
    else if (socket.timeout === untaken_ms) socket.setTimeout(0)
  }

  stream (
    status: number, headers: HeaderBlock, preface: string, body: ReadableStream<Uint8Array>, close: Close = 'keep'
  ): void {
    const response = this.#response
    const reader = body.getReader()
    if (this.#gone || response.headersSent) return void reader.cancel().catch(() => {})
    let drained: (() => void) | undefined
    this.#onGone = () => {
      reader.cancel().catch(() => {})
      drained?.()
    }
    reader.closed.catch(() => { response.destroy() }) // the stream failed, maybe while the client reads nothing
    response.writeHead(status, close === 'keep' ? [...headers] : [...headers, 'Connection', 'close'])
    response.write(preface)
    response.on('drain', () => { drained?.() })
    const send = async (piece: Uint8Array): Promise<boolean> => {
      if (!this.#gone && !response.write(piece)) await new Promise<void>(resolve => { drained = resolve })
      return !this.#gone
    }
    const run = async (): Promise<void> => {
      if (await pump(reader, send)) response.end()
      else response.destroy()
    }
    void run()
  }

  /** Replies at once, and for a while drops the bytes that the client still sends. */
  #refuse (status: number, headers: HeaderBlock, body: string | Uint8Array): void {
    const request = this.#request
    let bytes = 0
    const cut = (): void => { request.destroy() }
    const timer = setTimeout(cut, linger_ms)
    this.#response.once('close', () => { clearTimeout(timer) })
    request.on('data', (chunk: Buffer) => { if ((bytes += chunk.length) > lingerBytesMax) cut() })
    request.once('end', () => { this.#response.end() })
    const length = String(Buffer.byteLength(body))
    this.#response.writeHead(status, [...headers, 'Connection', 'close', 'Content-Length', length])
    if (this.method === 'HEAD') this.#response.flushHeaders()
    else this.#response.write(body)
  }
}
