import type { Canceller, CancelSignal } from '../../../kernel/index.ts'
import type { Bodies, Body, BodyCut } from './bodies.ts'
import {
  cancellerOf, ClientGone, headerOf, type Close, type Exchange, type HeaderBlock, type Pending
} from './server.ts'
import type { UwsContext, UwsRequest, UwsResponse } from './uws-addon.ts'
import type { OpenWebSocket } from './web-socket.ts'
import { writeHead } from './uws-head.ts'
import { sendLast } from './uws-last-reply.ts'
import { sendLarge, sendStream, sendWatched, type Sender } from './uws-sending.ts'

/**
 * The size in bytes from which a body is sent at the client's reading speed, instead of being copied into the
 * connection's buffer.
 */
const streamedBytes = 65_536

/**
 * Which replies are watched among those that are sent in the turn of their request: all replies of this size or more,
 * in bytes, and one of sixteen smaller replies, since watching costs a tenth of a small request.
 */
const watching = { bytes: 4_096, every: 16 }
let unwatched = 0

/** Whether a reply of this many bytes must not be buffered for a client that does not read. */
function isWatched (bytes: number): boolean {
  if (bytes < watching.bytes && ++unwatched < watching.every) return false
  unwatched = 0
  return true
}

// The addon parses one request at a time, so all requests share a callback and a variable; no request needs a closure.
let collected: string[] = []
function collect (name: string, value: string): void {
  collected.push(name, value)
}

const none: HeaderBlock = []
const utf8 = new TextDecoder()

/** A request to uWebSockets.js, and the reply to it. */
export class UwsExchange implements Exchange, Sender {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HeaderBlock
  readonly response: UwsResponse
  readonly accept?: (open: OpenWebSocket) => void
  gone = false
  onGone: (() => void) | undefined
  readonly #pending: Pending
  #handled = false
  #replied = false
  #canceller: Canceller | undefined
  /** Receives the chunks of the body; undefined until the body is requested. */
  #take: ((chunk: Uint8Array, last: boolean) => void) | undefined
  #body: Body | undefined
  #registered = false
  #received = false

  /** @param context of a request for a WebSocket */
  constructor (
    method: string, response: UwsResponse, request: UwsRequest, pending: Pending, context?: UwsContext
  ) {
    this.response = response
    this.#pending = pending
    pending.begin()
    this.method = method
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    collected = []
    request.forEach(collect)
    this.headers = collected
    if (context !== undefined) this.accept = open => { this.#upgrade(context, open) }
  }

  #upgrade (context: UwsContext, open: OpenWebSocket): void {
    if (this.gone || this.#replied) return
    this.#replied = true
    this.finish() // the response is not valid any more
    // No subprotocol and no extension is chosen: there is none.
    this.response.upgrade({ open }, headerOf(this.headers, 'sec-websocket-key') ?? '', '', '', context)
  }

  /**
   * The handler has returned. A later reply must detect that the client has disconnected; before this, no client can
   * disconnect.
   */
  handled (): void {
    this.#handled = true
    if (!this.gone) this.response.onAborted(() => { this.#leave() })
  }

  get remote_address (): string {
    return this.gone ? '' : utf8.decode(this.response.getRemoteAddressAsText())
  }

  get signal (): CancelSignal {
    return this.#canceller ??= cancellerOf(this.gone)
  }

  body (bodies: Bodies, whole: (bytes: Uint8Array) => void, failed: (error: BodyCut | ClientGone) => void): void {
    const body = this.#body = bodies.open(error => {
      this.#take = this.onGone = undefined
      failed(error)
    })
    this.onGone = () => { failed(new ClientGone()) }
    this.receive((chunk, last) => {
      if (!last) return body.add(chunk)
      const bytes = body.end(chunk)
      if (bytes === undefined) return
      this.onGone = undefined
      whole(bytes)
    })
  }

  /** Registers for the body once; later calls only change the callback that receives the chunks. */
  receive (take: (chunk: Uint8Array, last: boolean) => void): void {
    this.#take = take
    if (this.#registered) return
    this.#registered = true
    this.response.onData((chunk, last) => {
      this.#received = last
      this.#take?.(new Uint8Array(chunk), last)
    })
  }

  reply (
    status: number, headers: HeaderBlock, body: string | Uint8Array, close: Close = 'keep', own: HeaderBlock = none
  ): void {
    if (this.gone || this.#replied) return
    this.#replied = true
    const bodyLeft = close === 'linger' && !this.#received && this.#expectsBody()
    if (bodyLeft || close === 'now') return sendLast(this, status, headers, own, body, close === 'linger')
    const isLarge = body.length >= streamedBytes && this.method !== 'HEAD'
    if (isLarge) return sendLarge(this, status, headers, own, body, close)
    // While the addon calls the handler, it sends all writes together; later, `cork` is needed for that.
    if (this.#handled) this.response.cork(() => { this.#whole(status, headers, own, body, close) })
    else if (close === 'keep' && body.length > 0 && this.method !== 'HEAD' && isWatched(body.length)) {
      sendWatched(this, status, headers, own, body)
    } else this.#whole(status, headers, own, body, close)
  }

  #whole (status: number, headers: HeaderBlock, own: HeaderBlock, body: string | Uint8Array, close: Close): void {
    const { response } = this
    writeHead(response, status, headers, own)
    // endWithoutBody(length) waits for a body that never comes, so the length is written as a header.
    if (status === 204 || status === 304) response.endWithoutBody()
    else if (this.method === 'HEAD') {
      response.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody()
    } else response.end(body, close !== 'keep')
    this.finish()
  }

  stream (
    status: number, headers: HeaderBlock, preface: string, body: ReadableStream<Uint8Array>, close: Close = 'keep'
  ): void {
    const reader = body.getReader()
    if (this.gone || this.#replied) return void reader.cancel().catch(() => {})
    this.#replied = true
    sendStream(this, status, headers, preface, reader, close)
  }

  /** Closes the connection without a reply. */
  destroy (): void {
    if (this.gone || this.#replied) return
    this.response.close()
    this.#leave()
  }

  finish (): void {
    if (this.gone) return
    this.gone = true
    this.#body?.release()
    this.#pending.end()
  }

  #expectsBody (): boolean {
    const { headers } = this
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]
      if (name === 'transfer-encoding' || (name === 'content-length' && headers[i + 1] !== '0')) return true
    }
    return false
  }

  #leave (): void {
    if (this.gone) return
    this.finish()
    this.onGone?.()
    this.#canceller?.abort()
  }
}
