import { setTimeout as sleep } from 'node:timers/promises'
import type { Allowed } from '../toolkit/net/addresses.ts'
import { redirectStatuses, send, type Reply } from '../toolkit/net/request.ts'
import type { Body } from './build-body.ts'
import type { Head } from './build-request.ts'

const redirectsMax = 5
const retriesMax = 3
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** How requests are sent. */
export interface Sending {
  allowed: Allowed
  body_bytes_max: number
  /** When the time of the call is over, as `performance.now()` counts. */
  until_ms: number
  signal: AbortSignal
}

/**
 * Sends a request, follows redirects within its server, and repeats it where the server asks for that.
 * @throws Error when it can't be sent
 */
export async function exchange (method: string, head: Head, body: Body | undefined, sending: Sending): Promise<Reply> {
  for (let retries = 0; ; retries++) {
    const reply = await follow(method, head, body, sending)
    if (!idempotent.has(method) || retries === retriesMax) return reply
    const wait_ms = waitOf(reply)
    if (wait_ms === undefined || performance.now() + wait_ms > sending.until_ms) return reply
    await sleep(wait_ms, undefined, { signal: sending.signal })
  }
}

/** How long a server asks to wait, in milliseconds; undefined where it does not ask. */
function waitOf ({ status, headers }: Reply): number | undefined {
  const after = headers['retry-after']?.trim()
  if ((status !== 429 && status !== 503) || after === undefined || after === '') return undefined
  if (/^\d{1,9}$/.test(after)) return Number(after) * 1000
  const at = Date.parse(after)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

async function follow (first: string, head: Head, given: Body | undefined, sending: Sending): Promise<Reply> {
  const { allowed, body_bytes_max, signal } = sending
  let [method, { url }, body] = [first, head, given]
  for (let redirects = 0; ; redirects++) {
    const reply = await send(url, {
      method, headers: { ...head.headers, ...(body !== undefined && { 'content-type': body.type }) },
      ...bodyBytes(method, body), allowed, bytes_max: body_bytes_max, signal
    })
    const next = redirectOf(reply, url)
    if (next === undefined) return reply
    if (redirects === redirectsMax) throw new Error(`it redirects more than ${redirectsMax} times`)
    if (!isSameHost(url, next)) {
      throw new Error(`it redirects to ${next.origin}, which is not the server that was confirmed`)
    }
    if (reply.status === 303 || (method === 'POST' && (reply.status === 301 || reply.status === 302))) {
      method = method === 'HEAD' ? 'HEAD' : 'GET'
      body = undefined
    }
    url = next
  }
}

/** Servers want to know that there is no body where there could be one. */
function bodyBytes (method: string, body: Body | undefined): { body?: Buffer } {
  if (body !== undefined) return { body: body.bytes }
  return ['POST', 'PUT', 'PATCH'].includes(method) ? { body: Buffer.alloc(0) } : {}
}

function redirectOf ({ status, headers: { location } }: Reply, url: URL): URL | undefined {
  if (!redirectStatuses.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, url.href)) throw new Error('it redirects to something that is no address')
  const next = new URL(location, url)
  next.hash = ''
  if (next.username !== '' || next.password !== '') throw new Error('it redirects to an address with a password')
  return next
}

/** The same server, or the same name by https on its usual port. */
export function isSameHost (url: URL, next: URL): boolean {
  return next.origin === url.origin
    || (url.protocol === 'http:' && url.port === '' && next.protocol === 'https:' && next.host === url.host)
}
