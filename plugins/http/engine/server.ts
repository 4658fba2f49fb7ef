import { Canceller, type CancelSignal, type Logger } from '../../../kernel/index.ts'
import type { Bodies, BodyCut } from './bodies.ts'

/**
 * What the plugin asks of an HTTP engine; uws.ts and node.ts provide it. An engine parses, frames and sends; it
 * decides nothing about a request.
 */

/** Flat: name, value, name, value. Made once and shared; an engine adds Content-Length, Date and Connection itself. */
export type HeaderBlock = readonly string[]

/** One request, and the one reply to it. */
export interface Exchange {
  /** As sent: methods are case-sensitive. */
  readonly method: string
  /** As sent: not decoded, without the query. */
  readonly path: string
  /** As sent: not decoded, without the `?`; empty when there is none. */
  readonly query: string
  /** Lower-case names and values, flat, in the order sent, repeated ones included. */
  readonly headers: HeaderBlock
  readonly remote_address: string
  /** Aborts when the client goes away before the reply. Made when first asked for. */
  readonly signal: CancelSignal
  /**
   * Reads the body. It must be asked for before the handler returns: later its beginning may be lost.
   * @param whole takes it; the bytes are the engine's again once it has. Must not throw
   * @param failed called instead, at most once: with a BodyCut as soon as it goes past a limit, with ClientGone when
   * the client left
   */
  body (bodies: Bodies, whole: (bytes: Uint8Array) => void, failed: (error: BodyCut | ClientGone) => void): void
  /**
   * Sends the reply: no body to HEAD, and nothing at all when the client is gone. Only the first call counts.
   * @param close what becomes of the connection; default `keep`
   * @param own headers of this reply alone: engines keep what they make of `headers`
   */
  reply (status: number, headers: HeaderBlock, body: string | Uint8Array, close?: Close, own?: HeaderBlock): void
  /**
   * Sends a reply of unknown length as it comes, no faster than the client takes it. The stream is cancelled when the
   * client goes away, or when a reply was sent already; when the stream fails, the connection ends before the reply
   * does.
   * @param preface sent at once, with the head: an engine keeps a head back until something follows it
   */
  stream (status: number, headers: HeaderBlock, preface: string, body: ReadableStream<Uint8Array>, close?: Close): void
}

/** What an exchange's signal is, when it is first asked for. @param gone whether nobody waits for the reply any more */
export function cancellerOf (gone: boolean): Canceller {
  const canceller = new Canceller()
  if (gone) canceller.abort()
  return canceller
}

/**
 * What becomes of a connection after a reply. `linger`: it ends, but what the client still sends is read for a while
 * and dropped, since closing on unread data can destroy the reply on its way. `now`: it ends, and nothing that came
 * after the request is taken for another, since nobody knows where that would begin.
 */
export type Close = 'keep' | 'linger' | 'now'

export interface ListenOptions {
  host: string
  /** 0 picks a free one. */
  port: number
  /** Called for each request; must not throw. */
  handler: (exchange: Exchange) => void
  /** How long a whole request may take to arrive, in milliseconds; the engine's own limit, behind that of `Bodies`. */
  request_timeout_ms: number
  /** The answer to what is not HTTP, where the engine lets us give one. */
  malformed: { status: number, headers: HeaderBlock, body: string }
  log: Logger
}

export interface Server {
  readonly port: number
  /** Accepts no more connections; open ones go on. */
  refuse (): void
  /** Resolves when no reply is owed or on its way. */
  idle (): Promise<void>
  /** Ends every connection. */
  close (): void
}

export type EngineName = 'uWebSockets.js' | 'node:http'

export interface Engine {
  readonly name: EngineName
  /** The package of the registry that it was loaded from. */
  readonly package?: string
  /** @throws Error naming host and port */
  listen (options: ListenOptions): Promise<Server>
}

/** The client left before its request was whole. Nobody is there to be told. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** How long a client may go on sending a body that was refused, in milliseconds, and how much of it, in bytes. */
export const linger_ms = 2_000
export const lingerBytesMax = 16 * 1_048_576

/** The value of a header; undefined when it was not sent. Of a repeated one, the first. */
export function headerOf (headers: HeaderBlock, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1]
  return undefined
}

/**
 * Sends a stream piece by piece.
 * @param send takes a piece, and says (when there is room for more) whether the client is still there
 * @returns whether it was sent to its end
 */
export async function pump (reader: ReadableStreamDefaultReader<Uint8Array>, send: (piece: Uint8Array) => boolean | Promise<boolean>): Promise<boolean> {
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
 * The largest piece an engine is given at once, in bytes: what a slow client has not taken grows by one at most each
 * time it takes some.
 */
const pieceBytesMax = 16_384

/** Counts what is owed, for `Server.idle`. */
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
