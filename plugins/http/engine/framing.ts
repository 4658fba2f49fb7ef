import { SkilletError } from '../../../kernel/index.ts'
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

/**
 * Headers that mean something only once. Two of them read differently by two programs are how requests are smuggled.
 */
const singleNames = ['host', 'origin', 'x-api-key', 'content-type', 'authorization', 'content-length', 'transfer-encoding'] as const
/**
 * The same at the place of their length, of which each has another: a name is compared with one of them, where a set
 * would hash it.
 */
const single = Array.from<string | undefined>({ length: Math.max(...singleNames.map(name => name.length)) + 1 })
for (const name of singleNames) {
  if (single[name.length] !== undefined) throw new Error(`"${name}" is as long as "${single[name.length]}"`)
  single[name.length] = name
}

/**
 * Looks at the head once: a parser may have let two headers of a kind pass, or a coding it does not know. A body in
 * chunks ends its connection, since parsers differ in what they let pass for a chunk, and so in where the next request
 * begins. CONNECT and TRACE do too: who sends them takes what follows for something else.
 */
export function checkFraming ({ headers, method, path }: Pick<Exchange, 'headers' | 'method' | 'path'>): Framing {
  let length: number | undefined = 0
  let coding: string | undefined
  let upgrade = false
  /** A bit for each of `single`, at its place there. */
  let seen = 0
  if (!path.startsWith('/')) return refuse('the target must be a path')
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (name === 'upgrade') upgrade ||= /\bwebsocket\b/i.test(headers[i + 1] ?? '')
    else if (name === '') return refuse('a header has no name')
    if (name !== single[name.length]) continue
    const bit = 1 << name.length
    if ((seen & bit) !== 0) return refuse(`header "${name}" is there twice`, name === 'host' ? 'FORBIDDEN' : undefined)
    seen |= bit
    if (name === 'transfer-encoding') coding = headers[i + 1] ?? ''
    else if (name === 'content-length') {
      length = bytesOf(headers[i + 1] ?? '')
      if (length === undefined) return refuse('header "content-length" must be a number of bytes')
    }
  }
  if ((seen & bitOf('host')) === 0) return refuse('header "host" is missing', 'FORBIDDEN')
  const tunnel = method === 'CONNECT' || method === 'TRACE'
  if (coding === undefined) return { length, refusal: undefined, last: tunnel || upgrade, upgrade }
  if ((seen & bitOf('content-length')) !== 0) return refuse('headers "content-length" and "transfer-encoding" exclude each other')
  if (coding.toLowerCase() !== 'chunked') return refuse('header "transfer-encoding" must be "chunked"')
  return { length: undefined, refusal: undefined, last: true, upgrade }
}

function bitOf (name: typeof singleNames[number]): number {
  return 1 << name.length
}

/** Up to 15 digits and nothing else. */
function bytesOf (text: string): number | undefined {
  if (text === '' || text.length > 15) return undefined
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return undefined
    bytes = bytes * 10 + digit
  }
  return bytes
}

function refuse (message: string, code: 'INVALID_PARAMETERS' | 'FORBIDDEN' = 'INVALID_PARAMETERS'): Framing {
  return { ...unframed, refusal: new SkilletError(code, message) }
}
