import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { compiled } from './native.ts'

/** What a load test saw. Replies that are not 200 count as failed. */
export interface Load { requests_per_second: number, median_ms: number, p99_ms: number, requests: number }

const program = compiled('bench/lib/load.c')

/** What sends the requests: its own cost is part of all absolute numbers. */
export const generator = program === undefined ? 'Node, one thread' : 'C, one thread'

/**
 * Sends one request over and over on so many keep-alive connections, each waiting for its reply before the next.
 * @param request the whole request, head and body; where it has eight `#` in a row, each has another number there
 * @param seconds after which no new one is sent
 * @throws Error when a reply is not 200: a number of refusals a second says nothing
 */
export async function load (port: number, request: Buffer, connections: number, seconds: number): Promise<Load> {
  const { requests, failed, ...rest } = await (program === undefined
    ? loadByNode(port, request, connections, seconds)
    : loadByC(program, port, request, connections, seconds))
  if (failed > 0 || requests === 0) throw new Error(`${failed} of ${requests} requests failed`)
  return { requests, ...rest }
}

type Seen = Load & { failed: number }

async function loadByC (
  program: string, port: number, request: Buffer, connections: number, seconds: number
): Promise<Seen> {
  const child = spawn(program, [`${port}`, `${connections}`, `${seconds}`], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  child.stdin.on('error', () => {}).end(request)
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('')
  await closed
  if (child.exitCode !== 0) throw new Error(`the load generator ended with ${child.exitCode ?? child.signalCode}`)
  const { requests, failed, seconds: took_s, median_us, p99_us } = JSON.parse(
    text
  ) as { requests: number, failed: number, seconds: number, median_us: number, p99_us: number }
  return {
    requests, failed, requests_per_second: requests / took_s, median_ms: median_us / 1000, p99_ms: p99_us / 1000
  }
}

async function loadByNode (port: number, request: Buffer, connections: number, seconds: number): Promise<Seen> {
  const times: number[] = []
  let failed = 0
  let sent = 0
  const text = request.toString('latin1')
  const numbered = text.includes('########')
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
      if (numbered) socket.write(text.replace('########', String(sent++).padStart(8, '0')), 'latin1')
      else socket.write(request)
    }
    socket.setEncoding('latin1').on('connect', send).on('error', reject).on('data', (text: string) => {
      received += text
      const head = received.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: *(\d+)/i.exec(received.slice(0, head))?.[1] ?? Number.NaN)
      if (Number.isNaN(length)) reject(new Error('a reply without Content-Length'))
      if (received.length < head + 4 + length) return
      if (!received.startsWith('HTTP/1.1 200')) failed++
      times.push(performance.now() - sent_ms)
      received = received.slice(head + 4 + length)
      send()
    })
  })))
  const wall_s = (performance.now() - began) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return {
    requests: times.length, failed, requests_per_second: times.length / wall_s, median_ms: at(0.5), p99_ms: at(0.99)
  }
}

/** A request of HTTP/1.1, with a JSON body where one is given. */
export function requestOf (
  method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}
): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const head = body === undefined
    ? ''
    : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}${head}\r\n${text}`)
}
