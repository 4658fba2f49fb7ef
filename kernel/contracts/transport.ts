/** A transport receives requests and calls operations through the gateway. It listens from the end of its `setup`. */
export interface Transport {
  /** URL of the transport, once it listens. */
  readonly url?: string
  /** Resolves when the only client of the transport has disconnected. Absent where clients come and go. */
  readonly ended?: Promise<void>
  /**
   * Accepts no new requests from now on; requests that were accepted are still answered. The transport's scope closes
   * after the drain.
   */
  quiesce? (): void | Promise<void>
}
