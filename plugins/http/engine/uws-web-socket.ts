import {
  bufferedBytesMax, idle_s, messageBytesMax, type OpenWebSocket, type WebSocketConnection, type WebSocketListener
} from './web-socket.ts'
import type { UwsContext, UwsRequest, UwsResponse, UwsSocket, WebSocketBehavior } from './uws-addon.ts'

/** What a socket of the addon holds: who opens it, and then who listens to it. */
export interface UwsSocketData {
  readonly open: OpenWebSocket
  listener?: WebSocketListener
  connection?: UwsConnection
}

const utf8 = new TextDecoder()

/** How the addon serves WebSockets. @param take passes the request to the handler of requests */
export function webSocketBehavior (
  take: (response: UwsResponse, request: UwsRequest, context: UwsContext) => void
): WebSocketBehavior<UwsSocketData> {
  return {
    compression: 0,
    maxPayloadLength: messageBytesMax,
    maxBackpressure: bufferedBytesMax,
    closeOnBackpressureLimit: true,
    idleTimeout: idle_s,
    sendPingsAutomatically: true,
    upgrade: take,
    open (socket) {
      const data = socket.getUserData()
      data.connection = new UwsConnection(socket)
      data.listener = data.open(data.connection)
    },
    message (socket, message, isBinary) {
      const { listener } = socket.getUserData()
      if (isBinary) listener?.binary()
      else listener?.message(utf8.decode(message))
    },
    drain (socket) { socket.getUserData().listener?.drained() },
    close (socket) {
      const { connection, listener } = socket.getUserData()
      connection?.leave()
      listener?.closed()
    }
  }
}

/** A WebSocket of the addon, which must not be used after its end. */
class UwsConnection implements WebSocketConnection {
  readonly #socket: UwsSocket<UwsSocketData>
  #gone = false

  constructor (socket: UwsSocket<UwsSocketData>) {
    this.#socket = socket
  }

  get buffered_bytes (): number {
    return this.#gone ? 0 : this.#socket.getBufferedAmount()
  }

  send (text: string): void {
    if (!this.#gone) this.#socket.send(text)
  }

  close (code: number, reason: string): void {
    if (!this.#gone) this.#socket.end(code, reason)
  }

  leave (): void {
    this.#gone = true
  }
}
