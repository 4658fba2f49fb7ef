import { pump, type Close, type HeaderBlock } from './server.ts'
import type { UwsResponse } from './uws-addon.ts'
import { writeHead } from './uws-head.ts'

/** The part of an exchange that the functions for sending its reply use. */
export interface Sender {
  readonly response: UwsResponse
  readonly method: string
  /** The reply was sent, or the client disconnected: the response must not be used from then on. */
  readonly gone: boolean
  /** Called when the client disconnects before the reply is sent. */
  onGone: (() => void) | undefined
  /** Passes the chunks of the request's body to `take` instead of to any earlier callback. */
  receive (take: (chunk: Uint8Array, last: boolean) => void): void
  /** Ends the exchange after its reply was sent. */
  finish (): void
}

const none: HeaderBlock = []
const encoder = new TextEncoder()

/**
 * Sends a reply in the turn of the event loop in which the request came. The client may send its next request without
 * reading this reply, and the addon would buffer the replies to all its requests. Here the bytes that the operating
 * system does not accept yet are not copied, and until they are sent, the next request ends the connection.
 */
export function sendWatched (
  sender: Sender, status: number, headers: HeaderBlock, own: HeaderBlock, body: string | Uint8Array
): void {
  const { response } = sender
  const bytes = typeof body === 'string' ? encoder.encode(body) : body
  writeHead(response, status, headers, own)
  if (response.tryEnd(bytes, bytes.length)[1]) return sender.finish()
  response.onWritable(offset => {
    const [ok, done] = response.tryEnd(bytes.subarray(offset), bytes.length)
    if (done) sender.finish()
    return ok
  })
}

/** Sends a large body as fast as the client reads it; the rest is kept here, without a copy. */
export function sendLarge (
  sender: Sender, status: number, headers: HeaderBlock, own: HeaderBlock, body: string | Uint8Array, close: Close
): void {
  const { response } = sender
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const advance = (offset: number): boolean => {
    const [ok, done] = response.tryEnd(bytes.subarray(offset), bytes.length)
    if (done) sender.finish()
    return ok
  }
  response.cork(() => {
    writeHead(response, status, headers, own)
    if (close !== 'keep') response.writeHeader('Connection', 'close')
    if (!advance(0)) response.onWritable(offset => advance(offset))
  })
}

/** Sends a reply of unknown length, no faster than the client reads it. */
export function sendStream (
  sender: Sender, status: number, headers: HeaderBlock, preface: string,
  reader: ReadableStreamDefaultReader<Uint8Array>, close: Close
): void {
  const { response } = sender
  let drained: (() => void) | undefined
  sender.onGone = () => {
    reader.cancel().catch(() => {})
    drained?.()
  }
  // A stream may fail while the client does not read.
  reader.closed.catch(() => { if (!sender.gone) response.close() })
  response.onWritable(() => {
    drained?.()
    return true
  })
  const send = async (piece: Uint8Array): Promise<boolean> => {
    if (sender.gone) return false
    let room = true
    response.cork(() => { room = response.write(piece) })
    if (!room) await new Promise<void>(resolve => { drained = resolve })
    return !sender.gone
  }
  const begin = async (): Promise<void> => {
    if (sender.gone) return
    if (close !== 'keep') response.pause()
    response.cork(() => {
      writeHead(response, status, headers, close === 'keep' ? none : ['Connection', 'close'])
      response.write(preface)
    })
    const whole = await pump(reader, send)
    if (sender.gone) return
    if (!whole) return void response.close()
    response.cork(() => { response.end(undefined, close !== 'keep') })
    sender.finish()
  }
  // The addon must first read on: while a reply has not ended, it closes instead of accepting another request.
  if (close === 'now') setImmediate(begin)
  else void begin()
}
