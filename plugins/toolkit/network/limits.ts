/** What a proxy takes on at most. Bytes are not limited: each side is read as fast as the other one takes it. */
export interface ProxyLimits {
  /** Connections of all commands together. */
  connections_max: number
  /** Connections to one listening socket; more are closed at once. */
  listener_connections_max: number
  /** Connections of one run. */
  run_connections_max: number
  /** Bytes of the head of a request or a reply. */
  header_bytes_max: number
  /** Time in which the head of a request must arrive, in milliseconds. */
  header_ms: number
  /** Time in which a name must be resolved and a connection be made, in milliseconds. */
  connect_ms: number
  /** Time for which a connection may carry nothing, in milliseconds. */
  idle_ms: number
  /** Refusals of one run that are told to its user; the same one is told once. */
  refusals_max: number
}

export const proxyLimits: Readonly<ProxyLimits> = {
  connections_max: 1_024, listener_connections_max: 256, run_connections_max: 128, header_bytes_max: 16_384,
  header_ms: 10_000, connect_ms: 15_000, idle_ms: 300_000, refusals_max: 20
}
