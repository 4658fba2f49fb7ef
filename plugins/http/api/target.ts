import type { RequestContext } from './request-context.ts'

/** The handler of a path and method. */
export interface Target {
  /** Whether the handler changes or runs something. */
  readonly writes: boolean
  /** Its callers: those with a valid key, everybody, or everybody even while the server stops. */
  readonly access: 'key' | 'open' | 'probe'
  /** Whether a request may ask for a WebSocket here. */
  readonly isWebSocket?: boolean
  /**
   * Handles a request, now or later. An error that it throws or rejects with becomes the reply. It must begin to read
   * the body before it returns, or not read it at all.
   */
  run (context: RequestContext, values: readonly string[]): void | Promise<void>
}
