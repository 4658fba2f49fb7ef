import { readRange, SkilletError, type ByteRange, type Gateway, type StoredOutput } from '../../../kernel/index.ts'
import type { Replies } from '../api/replies.ts'
import type { RequestContext } from '../api/request-context.ts'
import type { Target } from '../api/target.ts'
import { headerOf, type Close } from '../engine/server.ts'

/** The route of the whole output of an execution. */
export const outputPath = '/api/executions/{id}/output'

/** A part of this size or less is sent with its length, in bytes; a larger one no faster than the client reads it. */
const wholeBytesMax = 1_048_576

/**
 * Answers with the output of an execution that has ended, or with a range of its bytes (RFC 9110).
 * @param afterReply what happens to the connection after the reply
 */
export function executionOutput (
  gateway: Gateway, replies: Replies, afterReply: (context: RequestContext) => Close
): Target {
  return {
    writes: false,
    access: 'key',
    async run (context, values) {
      const { exchange, admission: { access } } = context
      if (exchange.query !== '') throw invalid(`${outputPath} takes no query; a part is asked for by the header Range`)
      const output = await gateway.outputs({ access }).open(idOf(values[0] ?? ''))
      await send(context, output, replies, afterReply(context))
    }
  }
}

async function send (context: RequestContext, output: StoredOutput, replies: Replies, close: Close): Promise<void> {
  const { exchange } = context
  const { bytes, execution_id } = output
  const etag = `"${execution_id}"` // the output of an execution that has ended does not change
  const headers = [
    'Content-Type', 'text/plain; charset=utf-8', 'Accept-Ranges', 'bytes', 'ETag', etag,
    'Last-Modified', lastModified(output), 'Cache-Control', 'private, no-cache', 'Vary', 'Origin'
  ]
  if (isKnown(headerOf(exchange.headers, 'if-none-match'), etag)) return replies.part(context, 304, headers, '', close)
  const range = rangeOf(context, output, etag)
  if (range === undefined) {
    const message = `The output has ${bytes} bytes, none in that range`
    const error = new SkilletError('RANGE_NOT_SATISFIABLE', message, { execution_id, bytes })
    return replies.error(context, error, ['Content-Range', `bytes */${bytes}`, 'Accept-Ranges', 'bytes'], close)
  }
  const { from, to } = range
  const isPart = from > 0 || to < bytes
  if (isPart) headers.push('Content-Range', `bytes ${from}-${to - 1}/${bytes}`)
  const status = isPart ? 206 : 200
  if (to - from > wholeBytesMax && exchange.method !== 'HEAD') {
    return replies.partStream(context, status, headers, output.read(range), close)
  }
  replies.part(context, status, headers, await whole(output, range), close)
}

function lastModified ({ ended_at }: StoredOutput): string {
  return new Date(ended_at).toUTCString()
}

/** The range that is wanted: all where none is asked for, and where several are; undefined where it has no byte. */
function rangeOf (
  { exchange: { headers, method } }: RequestContext, output: StoredOutput, etag: string
): ByteRange | undefined {
  const all = { from: 0, to: output.bytes }
  const header = headerOf(headers, 'range')
  const condition = headerOf(headers, 'if-range')
  if (header === undefined || method !== 'GET') return all // RFC 9110 defines ranges for GET alone
  if (condition !== undefined && condition !== etag && condition !== lastModified(output)) return all
  const [, text] = /^bytes=\s*([^,]*?)\s*$/i.exec(header) ?? []
  const range = text === undefined ? 'invalid' : readRange(text, output.bytes)
  return range === 'invalid' ? all : range // a range that can't be read is ignored, as RFC 9110 says
}

async function whole (output: StoredOutput, range: ByteRange): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of output.read(range)) pieces.push(piece)
  return Buffer.concat(pieces)
}

function isKnown (tags: string | undefined, etag: string): boolean {
  return tags?.split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) === true
}

function idOf (segment: string): string {
  try {
    return decodeURIComponent(segment).slice(0, 257)
  } catch {
    throw invalid('path value "id" has bad percent-encoding')
  }
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}
