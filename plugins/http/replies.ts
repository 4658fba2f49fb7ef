import { SkilletError, type Version } from '../../kernel/index.ts'
import type { Turn } from './app.ts'
import { serializeError } from './serialize.ts'
import type { Close, HeaderBlock } from './server.ts'
import { STATUS } from './status.ts'

const common = ['X-Content-Type-Options', 'nosniff', 'Cross-Origin-Resource-Policy', 'same-origin']
const json: HeaderBlock = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store', ...common]
const text: HeaderBlock = ['Content-Type', 'text/plain; charset=utf-8', 'Cache-Control', 'no-store', ...common]
const bare: HeaderBlock = ['Cache-Control', 'no-store', ...common]

/** Nothing is loaded from elsewhere; swagger-ui styles its elements in place and draws with data images. */
const pagePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const page: HeaderBlock = ['Content-Security-Policy', pagePolicy, 'Referrer-Policy', 'no-referrer', ...common]

/** When to try again after a refusal that passes, in seconds. */
const retryAfter_s = '1'

/** Sends replies with the headers their kind needs, all but the rarest made beforehand. */
export class Replies {
  readonly #version: Version

  constructor (version: Version) {
    this.#version = version
  }

  json (turn: Turn, body: string, close: Close): void {
    turn.exchange.reply(200, withOwn(json, turn), body, close)
  }

  text (turn: Turn, status: number, body: string, close: Close): void {
    turn.exchange.reply(status, withOwn(text, turn), body, close)
  }

  empty (turn: Turn, status: number, headers: HeaderBlock, close: Close): void {
    turn.exchange.reply(status, withOwn([...bare, ...headers], turn), '', close)
  }

  /** A page or one of its assets; the browser keeps it, and asks whether it still holds. */
  page (turn: Turn, type: string, etag: string, body: string | Uint8Array, known: string | undefined): void {
    const { exchange } = turn
    const headers = withOwn(['Content-Type', type, 'ETag', etag, 'Cache-Control', 'no-cache', ...page], turn)
    if (known !== undefined && known.split(',').some(one => one.trim().replace(/^W\//, '') === etag)) exchange.reply(304, headers, '')
    else exchange.reply(200, headers, body)
  }

  error (turn: Turn, error: SkilletError, extra: HeaderBlock | undefined, close: Close): void {
    const status = STATUS[error.kind]
    const headers = [...withOwn(json, turn), ...(extra ?? [])]
    const { retry_after_s } = error.details
    if (status === 429 || status === 503) headers.push('Retry-After', typeof retry_after_s === 'number' ? String(retry_after_s) : retryAfter_s)
    if (status === 401) headers.push('WWW-Authenticate', 'Bearer realm="skillet"')
    turn.exchange.reply(status, headers, serializeError(error.envelope(), this.#version), close)
  }

  /** What an engine answers to what it could not read as HTTP. */
  malformed (): { status: number, headers: HeaderBlock, body: string } {
    const error = new SkilletError('INVALID_PARAMETERS', 'The request is not well-formed HTTP/1.1, took too long to arrive, or has headers that are too large')
    return { status: STATUS[error.kind], headers: json, body: serializeError(error.envelope(), this.#version) }
  }
}

/** The headers of a kind of reply, and those of this one: the block itself where there are none, since engines keep what they make of it. */
function withOwn (block: HeaderBlock, { cors, admission: { rate } }: Turn): HeaderBlock {
  if (cors === undefined) return rate === undefined ? block : [...block, ...rate]
  return [...block, ...(rate ?? []), ...cors]
}
