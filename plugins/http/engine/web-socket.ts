/** A WebSocket, as both engines give it. */
export interface WebSocketConnection {
  /** The bytes that were sent and that the client has not taken. */
  readonly buffered_bytes: number
  /** Sends a text; does nothing when the connection has ended. */
  send (text: string): void
  /** Ends the connection. @param code a close code of RFC 6455 */
  close (code: number, reason: string): void
}

/** What happens on a WebSocket. */
export interface WebSocketListener {
  message (text: string): void
  /** A message that is not text came. */
  binary (): void
  /** The client has taken what was sent. */
  drained (): void
  /** Called once, however the connection ended. Nothing can be sent any more. */
  closed (): void
}

/** Called when a WebSocket is open. */
export type OpenWebSocket = (connection: WebSocketConnection) => WebSocketListener

/** The longest message of a client, in bytes; a longer one ends its connection. */
export const messageBytesMax = 16_384
/** After how long without a sign of life a connection ends, in seconds; both engines send pings. */
export const idle_s = 60
/**
 * The bytes that a connection buffers at most, for a client that does not read. The sender stops much earlier: this is
 * the last resort.
 */
export const bufferedBytesMax = 8 * 1_048_576
