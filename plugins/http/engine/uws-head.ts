import type { HeaderBlock } from './server.ts'
import { statusLine } from './status.ts'
import type { UwsResponse } from './uws-addon.ts'

const encoder = new TextEncoder()

/** Header blocks as bytes for the addon, each with the status with which it was last sent. */
const heads = new WeakMap<HeaderBlock, { readonly status: number, readonly bytes: ArrayBuffer }>()

/**
 * Writes the status and headers of a reply. The caller adds Content-Length and Connection.
 * @param own headers of this reply only, which are not cached as bytes
 */
export function writeHead (response: UwsResponse, status: number, headers: HeaderBlock, own: HeaderBlock): void {
  response.writeStatus(headOf(status, headers))
  if (own.length > 0) response.writeHeader(own[0] ?? '', (own[1] ?? '') + linesOf(own, 2))
}

/**
 * A status and a header block as one status line, which contains the header lines. The addon writes this text without
 * changes, and each call of the addon costs as much as the rest of a reply's head. The line is bytes, since the addon
 * measures, copies and frees each string. The values come from this plugin, or from headers of the request, which can't
 * contain line ends.
 */
function headOf (status: number, headers: HeaderBlock): ArrayBuffer {
  const cached = heads.get(headers)
  if (cached?.status === status) return cached.bytes
  const { buffer, byteOffset, byteLength } = encoder.encode(statusLine(status) + linesOf(headers, 0))
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength) // a view would cost the addon another call
  heads.set(headers, { status, bytes })
  return bytes
}

function linesOf (headers: HeaderBlock, from: number): string {
  let lines = ''
  for (let i = from; i < headers.length; i += 2) lines += `\r\n${headers[i]}: ${headers[i + 1]}`
  return lines
}
