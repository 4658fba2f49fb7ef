import { IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { messageOf, type CancelSignal } from '../../../kernel/index.ts'
import type { BodyCut } from './bodies.ts'
import { headOf } from './node-head.ts'
import { cancellerOf, ClientGone, type Exchange, type HeaderBlock, type ListenOptions, type Pending } from './server.ts'
import { statusLine } from './status.ts'
import {
  bufferedBytesMax, idle_s, messageBytesMax, type OpenWebSocket, type WebSocketConnection
} from './web-socket.ts'

/**
 * Node's server treats every request with an Upgrade header as one that leaves HTTP, once it serves WebSockets. Clients
 * that offer HTTP/2 so (Java's does) would get no answer. Here only a request for a WebSocket is such a request.
 */
export class Request extends IncomingMessage {
  set upgrade (asks: boolean) {
    asking.set(this, asks)
  }

  get upgrade (): boolean {
    return asking.get(this) === true && this.method === 'GET' && isWebSocket(this)
  }
}

const asking = new WeakMap<Request, boolean>()

function isWebSocket ({ headers: { upgrade, 'sec-websocket-key': key } }: IncomingMessage): boolean {
  return /^websocket$/i.test(upgrade ?? '') && /^[+/0-9a-z]{22}==$/i.test(key ?? '')
}

/**
 * Passes requests for a WebSocket to the handler of requests.
 * @param owes whether replies to earlier requests of a connection are not sent yet
 */
export function serveWebSockets (
  server: Server, { handler, log }: Pick<ListenOptions, 'handler' | 'log'>, pending: Pending,
  owes: (socket: Duplex) => boolean
): void {
  const sockets = new NodeWebSockets()
  server.on('upgrade', (request, socket, head) => {
    // A reply before those would be taken for one of them.
    if (owes(socket)) return void socket.destroy()
    try {
      handler(new NodeUpgradeExchange(request, socket, head, sockets, pending))
    } catch (error) {
      log.error({ error: messageOf(error) }, 'a request handler threw')
      socket.destroy()
    }
  })
}

/** Makes WebSockets of connections. */
class NodeWebSockets {
  readonly #server = new WebSocketServer({
    noServer: true, clientTracking: false, maxPayload: messageBytesMax, perMessageDeflate: false
  })

  open (request: IncomingMessage, socket: Duplex, head: Buffer, open: OpenWebSocket): void {
    this.#server.handleUpgrade(request, socket, head, webSocket => { serve(webSocket, socket, open) })
  }
}

function serve (webSocket: WebSocket, socket: Duplex, open: OpenWebSocket): void {
  let isAlive = true
  const connection: WebSocketConnection = {
    get buffered_bytes () { return webSocket.bufferedAmount },
    send (text) {
      if (webSocket.readyState !== webSocket.OPEN) return
      webSocket.send(text)
      if (webSocket.bufferedAmount > bufferedBytesMax) webSocket.terminate()
    },
    close (code, reason) {
      if (webSocket.readyState === webSocket.OPEN) webSocket.close(code, reason)
    }
  }
  const listener = open(connection)
  webSocket.on('message', (data, isBinary) => {
    isAlive = true
    if (isBinary || !Buffer.isBuffer(data)) listener.binary()
    else listener.message(data.toString())
  })
  webSocket.on('pong', () => { isAlive = true })
  webSocket.on('error', () => {}) // `close` follows
  socket.on('drain', () => { listener.drained() })
  const timer = setInterval(() => {
    if (!isAlive) return webSocket.terminate()
    isAlive = false
    webSocket.ping()
  }, idle_s * 1_000 / 2).unref()
  webSocket.on('close', () => {
    clearInterval(timer)
    listener.closed()
  })
}

/** A request for a WebSocket to `node:http`: a bare connection, which becomes one or receives one reply. */
class NodeUpgradeExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HeaderBlock
  readonly accept: (open: OpenWebSocket) => void
  readonly #request: IncomingMessage
  readonly #socket: Duplex
  readonly #pending: Pending
  #isDone = false

  constructor (request: IncomingMessage, socket: Duplex, head: Buffer, sockets: NodeWebSockets, pending: Pending) {
    this.#request = request
    this.#socket = socket
    this.#pending = pending
    pending.begin()
    socket.on('error', () => {}) // `close` follows
    socket.once('close', () => { this.#finish() })
    const { method, path, query, headers } = headOf(request)
    this.method = method
    this.path = path
    this.query = query
    this.headers = headers
    this.accept = open => {
      if (!this.#finish()) return
      sockets.open(request, socket, head, open)
    }
  }

  get remote_address (): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  /** Nothing waits for the reply of such a request. */
  get signal (): CancelSignal {
    return cancellerOf(this.#isDone)
  }

  body (_bodies: unknown, _whole: unknown, failed: (error: BodyCut | ClientGone) => void): void {
    failed(new ClientGone())
  }

  reply (
    status: number, headers: HeaderBlock, body: string | Uint8Array, _close?: unknown, own: HeaderBlock = []
  ): void {
    if (!this.#finish()) return
    let head = `HTTP/1.1 ${statusLine(status)}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
    const block = [...headers, ...own]
    for (let i = 0; i < block.length; i += 2) head += `${block[i]}: ${block[i + 1]}\r\n`
    this.#socket.write(`${head}\r\n`)
    this.#socket.end(body, () => { this.#socket.destroy() })
  }

  stream (_status: number, _headers: HeaderBlock, _preface: string, body: ReadableStream<Uint8Array>): void {
    body.cancel().catch(() => {})
    if (this.#finish()) this.#socket.destroy()
  }

  /** @returns whether this is the first end of the exchange */
  #finish (): boolean {
    if (this.#isDone) return false
    this.#isDone = true
    this.#pending.end()
    return true
  }
}
