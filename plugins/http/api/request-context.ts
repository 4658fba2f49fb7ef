import { Canceller, type Call, type CancelSignal } from '../../../kernel/index.ts'
import type { Admission } from '../access/request-guard.ts'
import type { Framing } from '../engine/framing.ts'
import type { Exchange } from '../engine/server.ts'

/** An accepted request, and the data that its reply needs. */
export interface RequestContext {
  readonly exchange: Exchange
  readonly framing: Framing
  /** The CORS headers, for pages of an allowed origin. */
  readonly cors: readonly string[] | undefined
  /** The rights of its key, and the rate-limit headers for its reply. */
  readonly admission: Admission
}

/** A request as a call of an operation. The signal is created only when an operation waits for something. */
export class HttpCall implements Call {
  readonly transport = 'http'
  readonly access: Call['access']
  readonly #exchange: Exchange

  readonly #outlives: boolean

  /**
   * @param outlives whether the work goes on when the client is gone: one that repeats its request with an idempotency
   * key wants the first result, and not that it was cancelled
   */
  constructor ({ exchange, admission: { access } }: RequestContext, outlives = false) {
    this.#exchange = exchange
    this.#outlives = outlives
    this.access = access
  }

  get signal (): CancelSignal {
    return this.#outlives ? new Canceller() : this.#exchange.signal
  }
}
