import type { HeaderBlock } from './server.ts'

/** How a request says its body is sent, and whether that can be trusted. */
export interface Framing {
  /** Bytes of the body; 0 when there is none, undefined when it comes in chunks. */
  length: number | undefined
  /** What is wrong; false when all is well. */
  malformed: string | false
}

/** Headers that mean something only once. Two of them read differently by two programs are how requests are smuggled. */
const single = new Set(['host', 'content-length', 'transfer-encoding', 'content-type', 'origin', 'authorization', 'x-api-key'])

/** Looks at the headers once: a parser may have let two of a kind pass, or a coding it does not know. */
export function checkFraming (headers: HeaderBlock): Framing {
  let length: number | undefined = 0
  let coding: string | undefined
  let seen = ''
  let hasHost = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (!single.has(name)) continue
    if (seen.includes(`${name};`)) return { length: 0, malformed: `header "${name}" is there twice` }
    seen += `${name};`
    const value = headers[i + 1] ?? ''
    if (name === 'host') hasHost = true
    else if (name === 'transfer-encoding') coding = value
    else if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value)) return { length: 0, malformed: 'header "content-length" must be a number of bytes' }
      length = Number(value)
    }
  }
  if (!hasHost) return { length, malformed: 'header "host" is missing' }
  if (coding === undefined) return { length, malformed: false }
  if (seen.includes('content-length;')) return { length: 0, malformed: 'headers "content-length" and "transfer-encoding" exclude each other' }
  if (coding.toLowerCase() !== 'chunked') return { length: 0, malformed: 'header "transfer-encoding" must be "chunked"' }
  return { length: undefined, malformed: false }
}
