import { Canceller, type CancelSignal, type Logger } from '../../../kernel/index.ts'
import type { Bodies, BodyCut } from './bodies.ts'
import type { OpenWebSocket } from './web-socket.ts'

/**
 * The interface between the plugin and an HTTP engine; uws.ts and node.ts implement it. An engine parses, frames and
 * sends; it makes no decisions about requests.
 */

/**
 * A flat list: name, value, name, value. Made once and shared; an engine adds Content-Length, Date and Connection
 * itself.
 */
export type HeaderBlock = readonly string[]

/** One request, and the one reply to it. */
export interface Exchange {
  /** The method as sent: methods are case-sensitive. */
  readonly method: string
  /** The path as sent: not decoded, without the query. */
  readonly path: string
  /** The query as sent: not decoded, without the `?`; empty when there is none. */
  readonly query: string
  /** Lower-case names and values, flat, in the order sent, repeated ones included. */
  readonly headers: HeaderBlock
  readonly remote_address: string
  /** Aborts when the client disconnects before the reply. Created when it is first read. */
  readonly signal: CancelSignal
  /**
   * Reads the body. A handler must call it before it returns: later, the beginning of the body may be lost.
   * @param whole receives the body; the engine reuses the bytes after this callback returns. Must not throw
   * @param failed called instead of `whole`, at most once: with a BodyCut as soon as the body exceeds a limit, with
   * ClientGone when the client disconnected
   */
  body (bodies: Bodies, whole: (bytes: Uint8Array) => void, failed: (error: BodyCut | ClientGone) => void): void
  /**
   * Sends the reply: without the body for HEAD, and not at all when the client has disconnected. Only the first call
   * counts.
   * @param close whether and how the connection ends; default `keep`
   * @param own headers of this reply only: engines cache the bytes that they make from `headers`
   */
  reply (status: number, headers: HeaderBlock, body: string | Uint8Array, close?: Close, own?: HeaderBlock): void
  /**
   * Sends a reply of unknown length while it arrives, no faster than the client reads it. The stream is cancelled when
   * the client disconnects, or when a reply was sent already. When the stream fails, the connection ends before the
   * reply is complete.
   * @param preface sent at once, with the head: an engine keeps a head back until bytes follow it
   */
  stream (status: number, headers: HeaderBlock, preface: string, body: ReadableStream<Uint8Array>, close?: Close): void
  /**
   * Opens a WebSocket instead of a reply; absent when the request does not ask for one as RFC 6455 says. A handler must
   * call it before it returns.
   */
  readonly accept?: (open: OpenWebSocket) => void
}

/**
 * Makes the signal of an exchange, when it is first read.
 * @param gone whether the client has left, so that the signal aborts at once
 */
export function cancellerOf (gone: boolean): Canceller {
  const canceller = new Canceller()
  if (gone) canceller.abort()
  return canceller
}

/**
 * What happens to a connection after a reply. `linger`: the connection ends, but for a while the bytes that the client
 * still sends are read and dropped, since closing a connection with unread data can destroy a reply that is still being
 * sent. `now`: the connection ends, and the bytes after the request are not read as another request, since it is
 * unknown where that would begin.
 */
export type Close = 'keep' | 'linger' | 'now'

export interface ListenOptions {
  host: string
  /** Port 0 selects a free port. */
  port: number
  /** Called for each request; must not throw. */
  handler: (exchange: Exchange) => void
  /**
   * How long a whole request may take to arrive, in milliseconds. This is the engine's own limit, longer than that of
   * `Bodies`.
   */
  request_timeout_ms: number
  /** The reply to bytes that are not HTTP, for engines that allow such a reply. */
  malformed: { status: number, headers: HeaderBlock, body: string }
  /** The paths where requests for a WebSocket may be accepted; elsewhere they are requests like all others. */
  web_socket_paths: readonly string[]
  log: Logger
}

export interface Server {
  readonly port: number
  /** Accepts no more connections; open connections go on. */
  refuse (): void
  /** Resolves when all replies have been sent. */
  idle (): Promise<void>
  /** Ends every connection. */
  close (): void
}

export type EngineName = 'uWebSockets.js' | 'node:http'

export interface Engine {
  readonly name: EngineName
  /** The package of the registry from which the engine was loaded. */
  readonly package?: string
  /** @throws Error naming host and port */
  listen (options: ListenOptions): Promise<Server>
}

/** The client disconnected before its request was complete, so that no reply can be sent. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** How long a client may go on sending a body that was refused, in milliseconds, and how much of it, in bytes. */
export const linger_ms = 2_000
export const lingerBytesMax = 16 * 1_048_576

/** The value of a header; undefined when it was not sent. For a repeated header, the first value. */
export function headerOf (headers: HeaderBlock, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1]
  return undefined
}

/**
 * Sends a stream piece by piece.
 * @param send sends a piece, and (when there is room for more) returns whether the client is still connected
 * @returns whether the stream was sent to its end
 */
export async function pump (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  send: (piece: Uint8Array) => boolean | Promise<boolean>
): Promise<boolean> {
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return true
      for (let from = 0; from < value.length; from += pieceBytesMax) {
        if (!await send(value.subarray(from, from + pieceBytesMax))) return false
      }
    }
  } catch {
    return false
  } finally {
    reader.cancel().catch(() => {})
  }
}

/**
 * The largest piece that an engine gets at once, in bytes. When a slow client reads something, its unread bytes grow by
 * at most one piece.
 */
const pieceBytesMax = 16_384

/** Counts the replies that are not sent yet, for `Server.idle`. */
export class Pending {
  #count = 0
  readonly #waiting: (() => void)[] = []

  begin (): void {
    this.#count++
  }

  end (): void {
    if (--this.#count === 0 && this.#waiting.length > 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  idle (): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise(resolve => { this.#waiting.push(resolve) })
  }
}
