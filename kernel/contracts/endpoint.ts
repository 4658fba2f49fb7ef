import type { SkilletError } from '../lib/errors.ts'
import type { Call } from './call.ts'

/** A route of an endpoint: method and path. */
export interface EndpointRoute {
  method: 'GET' | 'POST' | 'DELETE'
  /** The exact path of the request, without placeholders. */
  path: string
  /** Its callers: those with a valid key, which is the default, or everybody, who may only read. */
  readonly access?: 'key' | 'open'
}

/** The call that belongs to a request of an endpoint. */
export interface EndpointCall extends Call {
  /**
   * The identity of the caller for limits: the name of the key, or the address when there is no key. Each caller has
   * one text, and no two callers have the same text.
   */
  readonly caller: string
  /**
   * Counts another call in the same request against the rate limits. The server has counted the first call already.
   * @returns an error when the rate limits refuse the call
   */
  charge (): SkilletError | undefined
}

/**
 * An endpoint serves another protocol on the HTTP server, over the same gateway as the operations. The server checks a
 * request for an endpoint like every other request (limits, Host, Origin, key, size) before the endpoint receives it.
 */
export interface Endpoint {
  readonly routes: readonly EndpointRoute[]
  /**
   * Answers a request. The body of the request is bounded, and its signal aborts when the client disconnects. The
   * server streams a reply of type `text/event-stream`, no faster than the client reads it. It sends any other reply in
   * one piece.
   * @param call rights and signal of the request, for the gateway, and the identity of the caller
   */
  fetch (request: Request, call: EndpointCall): Promise<Response>
  /** Ends the streams on which no answer is pending; a stream with a pending answer continues. */
  quiesce? (): void
}
