import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Why a proxy does not do what it was asked. `message` is told to the command. */
export class ProxyError extends Error {
  /** 400, 403, 407, 502, 503 or 504. */
  readonly status: number

  constructor (status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** The time in which a client must take a refusal, in milliseconds. */
const farewell_ms = 2_000

/** Headers of a refusal; after it, the connection ends. */
export function refusalHeaders ({ status, message }: ProxyError): Record<string, string> {
  return {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(message) + 1),
    ...(status === 407 && { 'Proxy-Authenticate': 'Basic realm="Skillet"' }),
    'Connection': 'close'
  }
}

/** Answers on a connection that no HTTP server holds any more, and ends it. */
export function sendRefusal (socket: Duplex, error: ProxyError): void {
  const head = Object.entries(refusalHeaders(error)).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.on('error', () => {}).end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${head}\r\n${error.message}\n`)
  socket.resume()
  const timer = setTimeout(() => { socket.destroy() }, farewell_ms)
  socket.once('close', () => { clearTimeout(timer) })
}

export function proxyErrorOf (error: unknown): ProxyError {
  return error instanceof ProxyError ? error : new ProxyError(502, 'the proxy failed', { cause: error })
}
