/** A way in: it calls operations through the gateway. It listens from the end of its `setup`. */
export interface Transport {
  /** Where it can be reached, once it listens. */
  readonly url?: string
  /** Resolves when the only client it was made for has left. Absent where clients come and go. */
  readonly ended?: Promise<void>
  /** Accepts nothing new from now on; what was accepted is still answered. Its scope closes after the drain. */
  quiesce? (): void | Promise<void>
}
