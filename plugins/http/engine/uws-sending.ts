import { pump, type Close, type HeaderBlock } from './server.ts'
import type { UwsResponse } from './uws-addon.ts'
import { writeHead } from './uws-head.ts'

/** The part of an exchange that the functions that send its reply use. */
export interface Sender {
  readonly response: UwsResponse
  readonly method: string
  /** The reply was sent, or the client left: nothing may touch the response from then on. */
  readonly gone: boolean
  /** Called when the client leaves before the reply is sent. */
  onGone: (() => void) | undefined
  /** Hands the chunks of the request's body to `take`, and to nobody else. */
  receive (take: (chunk: Uint8Array, last: boolean) => void): void
  /** Ends the exchange: the reply is sent. */
  finish (): void
}

const none: HeaderBlock = []
const encoder = new TextEncoder()

/**
 * Replies in the turn in which the request came, to a client that may send its next request without reading: the addon
 * would keep the replies to all of them. The bytes that the system does not take are not copied, and while they are not
 * sent, the next request ends the connection.
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

/** Sends a large body as fast as the client takes it; the rest waits here, uncopied. */
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

/** Sends a reply of unknown length, no faster than the client takes it. */
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
  // A stream may fail while the client takes nothing.
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
  // The addon has to read on before: with a reply that has not ended, it closes instead of taking another request.
  if (close === 'now') setImmediate(begin)
  else void begin()
}
