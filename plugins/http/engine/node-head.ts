import type { IncomingMessage } from 'node:http'
import type { HeaderBlock } from './server.ts'

/** The head of a request of `node:http`, as the contract of engines has it. */
export interface NodeHead { method: string, path: string, query: string, headers: HeaderBlock }

/** Reads the head of a request. */
export function headOf ({ method = '', url = '/', rawHeaders }: IncomingMessage): NodeHead {
  const mark = url.indexOf('?')
  return {
    method,
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? '' : url.slice(mark + 1),
    headers: rawHeaders.map((text, i) => i % 2 === 0 ? text.toLowerCase() : text)
  }
}
