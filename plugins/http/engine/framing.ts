import { SkilletError } from '../../../kernel/index.ts'
import type { Exchange } from './server.ts'

/** How the body of a request is sent, and whether this information can be trusted. */
export interface Framing {
  /** Bytes of the body; 0 when there is none, undefined when it comes in chunks. */
  length: number | undefined
  /** Why the request is refused, whichever operation it calls; undefined when the framing is valid. */
  refusal: SkilletError | undefined
  /** Whether no bytes that follow the request on its connection are read as another request. */
  last: boolean
  /** Whether the request asks for a WebSocket. */
  upgrade: boolean
}

/** The framing of a request whose headers were not checked yet. */
export const unframed: Framing = { length: 0, refusal: undefined, last: true, upgrade: false }

/** Headers that may appear only once. Requests can be smuggled when two programs read repeated headers differently. */
const singleNames = [
  'host', 'origin', 'x-api-key', 'content-type', 'authorization', 'content-length', 'transfer-encoding'
] as const
/**
 * The same names, each at the index of its length, since all lengths differ: a name is compared with only one of them,
 * while a set would hash the name.
 */
const single = Array.from<string | undefined>({ length: Math.max(...singleNames.map(name => name.length)) + 1 })
for (const name of singleNames) {
  if (single[name.length] !== undefined) throw new Error(`"${name}" is as long as "${single[name.length]}"`)
  single[name.length] = name
}

/**
 * Checks the head once: a parser may have accepted two headers of the same name, or an unknown transfer coding. A body
 * in chunks ends its connection, since parsers differ in the chunks that they accept, and so in the place where the
 * next request begins. CONNECT and TRACE end it too: a client that sends them gives the following bytes another
 * meaning.
 */
export function checkFraming ({ headers, method, path }: Pick<Exchange, 'headers' | 'method' | 'path'>): Framing {
  let length: number | undefined = 0
  let coding: string | undefined
  let upgrade = false
  /** A bit for each name of `single`, by its index. */
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
  if ((seen & bitOf('content-length')) !== 0) {
    return refuse('headers "content-length" and "transfer-encoding" exclude each other')
  }
  if (coding.toLowerCase() !== 'chunked') return refuse('header "transfer-encoding" must be "chunked"')
  return { length: undefined, refusal: undefined, last: true, upgrade }
}

function bitOf (name: typeof singleNames[number]): number {
  return 1 << name.length
}

/** Reads a number of up to 15 digits; any other text is refused. */
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
