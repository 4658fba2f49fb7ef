import { SkilletError } from '../../kernel/index.ts'
import type { Exchange } from './server.ts'

/** How a request says its body is sent, and whether that can be trusted. */
export interface Framing {
  /** Bytes of the body; 0 when there is none, undefined when it comes in chunks. */
  length: number | undefined
  /** Why it is refused whatever it asks for; undefined when all is well. */
  refusal: SkilletError | undefined
  /** Nothing that follows it on its connection is taken for a request. */
  last: boolean
  /** It asks for a WebSocket. */
  upgrade: boolean
}

/** Of a request that was not looked at yet. */
export const unframed: Framing = { length: 0, refusal: undefined, last: true, upgrade: false }

/** Headers that mean something only once. Two of them read differently by two programs are how requests are smuggled. */
const single = new Set(['host', 'content-length', 'transfer-encoding', 'content-type', 'origin', 'authorization', 'x-api-key'])

/**
 * Looks at the head once: a parser may have let two headers of a kind pass, or a coding it does not know. A body in
 * chunks ends its connection, since parsers differ in what they let pass for a chunk, and so in where the next request
 * begins. CONNECT and TRACE do too: who sends them takes what follows for something else.
 */
export function checkFraming ({ headers, method, path }: Pick<Exchange, 'headers' | 'method' | 'path'>): Framing {
  let length: number | undefined = 0
  let coding: string | undefined
  let upgrade = false
  let seen = ''
  if (!path.startsWith('/')) return refuse('the target must be a path')
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (name === 'upgrade') upgrade ||= /\bwebsocket\b/i.test(headers[i + 1] ?? '')
    else if (name === '') return refuse('a header has no name')
    if (!single.has(name)) continue
    if (seen.includes(`${name};`)) return refuse(`header "${name}" is there twice`, name === 'host' ? 'FORBIDDEN' : undefined)
    seen += `${name};`
    const value = headers[i + 1] ?? ''
    if (name === 'transfer-encoding') coding = value
    else if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value)) return refuse('header "content-length" must be a number of bytes')
      length = Number(value)
    }
  }
  if (!seen.includes('host;')) return refuse('header "host" is missing', 'FORBIDDEN')
  const tunnel = method === 'CONNECT' || method === 'TRACE'
  if (coding === undefined) return { length, refusal: undefined, last: tunnel || upgrade, upgrade }
  if (seen.includes('content-length;')) return refuse('headers "content-length" and "transfer-encoding" exclude each other')
  if (coding.toLowerCase() !== 'chunked') return refuse('header "transfer-encoding" must be "chunked"')
  return { length: undefined, refusal: undefined, last: true, upgrade }
}

function refuse (message: string, code: 'INVALID_PARAMETERS' | 'FORBIDDEN' = 'INVALID_PARAMETERS'): Framing {
  return { ...unframed, refusal: new SkilletError(code, message) }
}
