import type { SkilletError } from '../lib/errors.ts'
import type { Call } from './call.ts'

/** Where an endpoint is reached. */
export interface EndpointRoute {
  method: 'GET' | 'POST' | 'DELETE'
  /** As it stands in the request: no placeholders. */
  path: string
}

/** A request as an endpoint is given it. */
export interface EndpointCall extends Call {
  /**
   * Whom limits of callers count: a key by its name, else an address. The same text for the same caller, and no
   * other's.
   */
  readonly caller: string
  /**
   * Counts a further call that the request holds against the rate limits: the first is counted already.
   * @returns why it may not be made
   */
  charge (): SkilletError | undefined
}

/**
 * What an HTTP server serves beside the operations: another protocol, over the same gateway. The server checks its
 * requests as it does all others (limits, Host, Origin, key, size) before it hands them over.
 */
export interface Endpoint {
  readonly routes: readonly EndpointRoute[]
  /**
   * Answers a request, whose body is bounded and whose signal aborts when the client goes away. A reply of type
   * `text/event-stream` is sent as it comes, no faster than the client takes it; any other at once.
   * @param call rights and signal of the request, for the gateway, and who makes it
   */
  fetch (request: Request, call: EndpointCall): Promise<Response>
  /** Ends streams that wait for nothing; those that owe an answer go on. */
  quiesce? (): void
}
