import { SkilletError, type Version } from '../../../kernel/index.ts'
import { prefersAsync } from './preferences.ts'
import type { RequestContext } from './request-context.ts'
import { serializeError } from './serialize.ts'
import type { Close, HeaderBlock } from '../engine/server.ts'
import { STATUS } from '../engine/status.ts'

const common = ['X-Content-Type-Options', 'nosniff', 'Cross-Origin-Resource-Policy', 'same-origin']
/**
 * The Vary header is sent for every request, with or without an Origin header: pages of some origins may read these
 * replies, and pages of other origins may not.
 */
const json: HeaderBlock = [
  'Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store', 'Vary', 'Origin', ...common
]
const events: HeaderBlock = [
  'Content-Type', 'text/event-stream; charset=utf-8', 'Cache-Control', 'no-cache, no-transform', 'Vary', 'Origin',
  ...common
]
const text: HeaderBlock = ['Content-Type', 'text/plain; charset=utf-8', 'Cache-Control', 'no-store', ...common]
const bare: HeaderBlock = ['Cache-Control', 'no-store', 'Vary', 'Origin', ...common]

/** The page loads nothing from other servers. swagger-ui sets styles on its elements, and draws with data images. */
const pagePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const page: HeaderBlock = ['Content-Security-Policy', pagePolicy, 'Referrer-Policy', 'no-referrer', ...common]

/** The seconds after which a client may repeat a request that was refused for a temporary reason. */
const retryAfter_s = '1'

/** Sends replies with the headers that their kind needs. All but the rarest header blocks are made beforehand. */
export class Replies {
  readonly #version: Version

  constructor (version: Version) {
    this.#version = version
  }

  json (context: RequestContext, body: string | Uint8Array, close: Close): void {
    context.exchange.reply(200, json, body, close, ownOf(context))
  }

  /** Says that an execution was accepted, and where its record is. */
  accepted (context: RequestContext, body: string | Uint8Array, execution_id: string, close: Close): void {
    const applied = prefersAsync(context.exchange.headers) ? ['Preference-Applied', 'respond-async'] : []
    const own = ['Location', `/api/executions/${execution_id}`, ...applied, ...ownOf(context) ?? []]
    context.exchange.reply(202, json, body, close, own)
  }

  text (context: RequestContext, status: number, body: string, close: Close): void {
    context.exchange.reply(status, text, body, close, ownOf(context))
  }

  empty (context: RequestContext, status: number, headers: HeaderBlock, close: Close): void {
    context.exchange.reply(status, [...bare, ...headers], '', close, ownOf(context))
  }

  /** Sends the whole response of an endpoint. */
  whole (context: RequestContext, response: Response, body: Uint8Array, close: Close): void {
    context.exchange.reply(response.status, headersOf(context, response), body, close)
  }

  /** Sends the response of an endpoint while it arrives: server-sent events, so that a comment may go first. */
  stream (context: RequestContext, response: Response, body: ReadableStream<Uint8Array>, close: Close): void {
    context.exchange.stream(response.status, headersOf(context, response), ':\n\n', body, close)
  }

  /** Sends a whole output, or a part of it, or says that the client has it. */
  part (context: RequestContext, status: number, headers: HeaderBlock, body: string | Uint8Array, close: Close): void {
    context.exchange.reply(status, [...headers, ...common], body, close, ownOf(context))
  }

  /** Sends an output or a part of it no faster than the client reads it. */
  partStream (
    context: RequestContext, status: number, headers: HeaderBlock, body: ReadableStream<Uint8Array>, close: Close
  ): void {
    context.exchange.stream(status, [...headers, ...common, ...(ownOf(context) ?? [])], '', body, close)
  }

  /** Sends server-sent events while they come. */
  events (context: RequestContext, body: ReadableStream<Uint8Array>, close: Close): void {
    const headers = [...events, ...(ownOf(context) ?? [])]
    context.exchange.stream(200, headers, ':\n\n', body, close)
  }

  /** Sends a page or one of its assets. The browser caches it, and asks with its ETag whether it has changed. */
  page (
    context: RequestContext, type: string, etag: string, body: string | Uint8Array, knownTags: string | undefined
  ): void {
    const { exchange } = context
    const headers = ['Content-Type', type, 'ETag', etag, 'Cache-Control', 'no-cache', ...page]
    if (knownTags !== undefined && knownTags.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)) {
      exchange.reply(304, headers, '', context.framing.last ? 'now' : 'keep', ownOf(context))
    } else {
      exchange.reply(200, headers, body, context.framing.last ? 'now' : 'keep', ownOf(context))
    }
  }

  error (context: RequestContext, error: SkilletError, extra: HeaderBlock | undefined, close: Close): void {
    const status = STATUS[error.kind]
    const headers = [...json, ...(extra ?? [])]
    const { retry_after_s } = error.details
    if (status === 429 || status === 503) {
      headers.push('Retry-After', typeof retry_after_s === 'number' ? String(retry_after_s) : retryAfter_s)
    }
    if (status === 401) headers.push('WWW-Authenticate', 'Bearer realm="skillet"')
    context.exchange.reply(status, headers, serializeError(error.envelope(), this.#version), close, ownOf(context))
  }

  /** The reply of an engine to bytes that it could not read as HTTP. */
  malformed (): { status: number, headers: HeaderBlock, body: string } {
    const error = new SkilletError(
      'INVALID_PARAMETERS',
      'The request is not well-formed HTTP/1.1, took too long to arrive, or has headers that are too large'
    )
    return { status: STATUS[error.kind], headers: json, body: serializeError(error.envelope(), this.#version) }
  }
}

/** Headers that only the engine writes. */
const framing = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'])

function headersOf (context: RequestContext, { headers }: Response): string[] {
  const block = ['Vary', 'Origin', ...common, ...(ownOf(context) ?? [])]
  if (!headers.has('cache-control')) block.push('Cache-Control', 'no-store')
  for (const [name, value] of headers) if (!framing.has(name)) block.push(name, value)
  return block
}

/** The headers that only this reply has. */
function ownOf ({ cors, admission: { rate } }: RequestContext): HeaderBlock | undefined {
  return cors === undefined ? rate : rate === undefined ? cors : [...rate, ...cors]
}
