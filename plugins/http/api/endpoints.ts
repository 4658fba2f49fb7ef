import { abortSignalOf, SkilletError, type Endpoint } from '../../../kernel/index.ts'
import type { RequestContext } from './request-context.ts'
import type { Meter } from '../access/request-guard.ts'
import type { Replies } from './replies.ts'
import type { Close } from '../engine/server.ts'

/**
 * Passes a request to an endpoint as a web `Request`, and sends the web `Response` of the endpoint.
 * @param body copied before this function first waits
 */
export async function serveEndpoint (
  endpoint: Endpoint,
  context: RequestContext,
  body: Uint8Array | undefined,
  meter: Meter,
  replies: Replies,
  close: Close
): Promise<void> {
  const signal = abortSignalOf(context.exchange.signal)
  const response = await endpoint.fetch(requestOf(context, body, signal), {
    transport: 'http', access: context.admission.access, signal, ...meter
  })
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    && response.body !== null
  if (streamed) replies.stream(context, response, response.body, close)
  else replies.whole(context, response, new Uint8Array(await response.arrayBuffer()), close)
}

/**
 * Requests by the signal that they follow; the signal lives as long as its exchange. A Request follows its signal
 * weakly: when an endpoint keeps only the signal of the Request, the Request could be garbage-collected, and its signal
 * would never abort. This map prevents that.
 */
const followers = new WeakMap<AbortSignal, Request>()

/** @throws SkilletError INVALID_PARAMETERS for headers that a web `Request` does not accept */
function requestOf (
  { exchange: { method, path, query, headers } }: RequestContext,
  body: Uint8Array | undefined,
  signal: AbortSignal
): Request {
  try {
    const requestHeaders = new Headers()
    for (let i = 0; i < headers.length; i += 2) requestHeaders.append(headers[i] ?? '', headers[i + 1] ?? '')
    // The host is not the server's own name: routes and sessions depend on paths only.
    const url = `http://localhost${path}${query === '' ? '' : `?${query}`}`
    const request = new Request(url, {
      method, headers: requestHeaders, signal, ...(body !== undefined && { body: new Uint8Array(body) })
    })
    followers.set(signal, request)
    return request
  } catch (error) {
    throw new SkilletError(
      'INVALID_PARAMETERS', 'The request has a header that is not well-formed', {}, { cause: error }
    )
  }
}
