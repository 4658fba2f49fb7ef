import { linger_ms, lingerBytesMax, type HeaderBlock } from './server.ts'
import { writeHead } from './uws-head.ts'
import type { Sender } from './uws-sending.ts'

const lineEnd = Buffer.from('\n')

/**
 * The operating system accepts a body of less than this size at once, so that the connection can be closed right after
 * it.
 */
const atOnceBytes = 8_192

/**
 * Sends the last reply of a connection. `end(…, true)` would close the connection with unread data, and it would handle
 * a request that came in the same packet. So the reply is never ended: until then, the addon accepts no other request,
 * and closes instead. The addon ends a reply when its bytes reach the length in the last call of `tryEnd`. So the last
 * byte of the body is sent as if another byte followed.
 * @param linger reads and drops the rest of the request's body that the client still sends; a body that does not end is
 * cut off
 */
export function sendLast (
  sender: Sender, status: number, headers: HeaderBlock, own: HeaderBlock, body: string | Uint8Array, linger: boolean
): void {
  const { response } = sender
  // A body of one byte has no byte before its last one, so a byte is added to it.
  const whole = typeof body === 'string' ? Buffer.from(body) : body
  const bytes = whole.length === 1 ? Buffer.concat([whole, lineEnd]) : whole
  const cut = (): void => { if (!sender.gone) response.close() }
  if (linger) drop(sender, cut)
  else response.pause() // the next request is not read
  const sent = (): void => {
    if (linger) return
    if (bytes.length < atOnceBytes) setImmediate(cut)
    else cutLater(sender, cut)
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
    writeHead(response, status, headers, own)
    if (sender.method === 'HEAD' || status === 204 || status === 304 || bytes.length === 0) {
      // The head ends after its last header: the line end behind that header makes the empty line.
      const length = status === 204 || status === 304 ? '' : `Content-Length: ${bytes.length}\r\n`
      response.writeHeader('Connection', `close\r\n${length}`)
      sent()
    } else {
      response.writeHeader('Connection', 'close')
      if (!advance(0)) response.onWritable(offset => advance(offset))
    }
  })
}

/**
 * Drops the rest of the request's body, and closes the connection at the end of the body or when the rest is too large.
 */
function drop (sender: Sender, cut: () => void): void {
  let dropped = 0
  cutLater(sender, cut)
  sender.receive((chunk, last) => {
    if (last || (dropped += chunk.byteLength) > lingerBytesMax) setImmediate(cut)
  })
}

function cutLater (sender: Sender, cut: () => void): void {
  const timer = setTimeout(cut, linger_ms)
  sender.onGone = () => { clearTimeout(timer) }
}
