import { connect } from 'node:net'

/** What a load test saw. */
export interface Load { requests_per_second: number, median_ms: number, p99_ms: number, failed: number }

/**
 * Sends one request over and over on so many keep-alive connections, each waiting for its reply before the next.
 * @param request the whole request, head and body
 * @param seconds after which no new one is sent
 */
export async function load (port: number, request: Buffer, connections: number, seconds: number): Promise<Load> {
  const times: number[] = []
  let failed = 0
  const began = performance.now()
  const end = began + seconds * 1000
  await Promise.all(Array.from({ length: connections }, () => new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true)
    let received = ''
    let sent_ms = 0
    const send = (): void => {
      if (performance.now() >= end) {
        socket.end()
        resolve()
        return
      }
      sent_ms = performance.now()
      socket.write(request)
    }
    socket.setEncoding('latin1').on('connect', send).on('error', reject).on('data', (text: string) => {
      received += text
      const head = received.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: *(\d+)/i.exec(received.slice(0, head))?.[1] ?? 0)
      if (received.length < head + 4 + length) return
      if (!received.startsWith('HTTP/1.1 200')) failed++
      times.push(performance.now() - sent_ms)
      received = received.slice(head + 4 + length)
      send()
    })
  })))
  const wall_s = (performance.now() - began) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return { requests_per_second: times.length / wall_s, median_ms: at(0.5), p99_ms: at(0.99), failed }
}

/** A request of HTTP/1.1, with a JSON body where one is given. */
export function requestOf (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const head = body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}${head}\r\n${text}`)
}
