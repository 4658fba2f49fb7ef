import { abortSignalOf, SkilletError, type Endpoint } from '../../../kernel/index.ts'
import type { RequestContext } from './request-context.ts'
import type { Meter } from '../access/request-guard.ts'
import type { Replies } from './replies.ts'
import type { Close } from '../engine/server.ts'

/**
 * Hands a request to an endpoint, in the terms of the web, and sends what it answers.
 * @param body copied before this first waits
 */
export async function serveEndpoint (endpoint: Endpoint, context: RequestContext, body: Uint8Array | undefined, meter: Meter, replies: Replies, close: Close): Promise<void> {
  const signal = abortSignalOf(context.exchange.signal)
  const response = await endpoint.fetch(requestOf(context, body, signal), { transport: 'http', access: context.admission.access, signal, ...meter })
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') === true && response.body !== null
  if (streamed) replies.stream(context, response, response.body, close)
  else replies.whole(context, response, new Uint8Array(await response.arrayBuffer()), close)
}

/**
 * Requests by the signal they follow, which lives as long as their exchange. A Request follows it weakly: one that is
 * collected, since its endpoint holds its own signal alone, would never abort that.
 */
const followers = new WeakMap<AbortSignal, Request>()

/** @throws SkilletError INVALID_PARAMETERS for headers that the web does not know */
function requestOf ({ exchange: { method, path, query, headers } }: RequestContext, body: Uint8Array | undefined, signal: AbortSignal): Request {
  try {
    const given = new Headers()
    for (let i = 0; i < headers.length; i += 2) given.append(headers[i] ?? '', headers[i + 1] ?? '')
    // The name is not the server's own: routes and sessions hang on paths alone.
    const url = `http://localhost${path}${query === '' ? '' : `?${query}`}`
    const request = new Request(url, { method, headers: given, signal, ...(body !== undefined && { body: new Uint8Array(body) }) })
    followers.set(signal, request)
    return request
  } catch (error) {
    throw new SkilletError('INVALID_PARAMETERS', 'The request has a header that is not well-formed', {}, { cause: error })
  }
}
