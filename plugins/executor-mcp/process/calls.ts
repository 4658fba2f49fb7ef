import { isObject, type JsonObject } from '../../../kernel/index.ts'
import { ServerFault } from '../server-fault.ts'

/** What is told of a call while it runs. */
export interface CallWatcher {
  signal: AbortSignal
  progress (done: number, total: number | undefined, message: string | undefined): void
}

/** An error that the server answered. */
export class CallError extends Error {
  readonly code: number

  constructor (code: number, message: string) {
    super(message)
    this.code = code
  }
}

interface Running { watcher: CallWatcher, resolve (result: unknown): void, reject (error: Error): void }

/** The first id of our requests; those of the client's package begin at 0. */
const firstId = 1_000_000_000

/**
 * Requests to a server that are sent past the client's package, since that checks each message several times: calls of
 * tools. Nothing is sent twice.
 */
export class Calls {
  readonly #send: (message: object) => void
  readonly #running = new Map<number, Running>()
  #next = firstId

  /** @param send sends a message. It throws when the server has ended */
  constructor (send: (message: object) => void) {
    this.#send = send
  }

  /**
   * Sends a request, and resolves with the result that the server answers, which may be anything. When the signal
   * aborts, the server is told that the call is cancelled.
   * @throws CallError that the server answered; ServerFault when the connection ends; the signal's reason
   */
  async request (method: string, params: JsonObject, watcher: CallWatcher): Promise<unknown> {
    const { signal } = watcher
    signal.throwIfAborted()
    const id = this.#next++
    const meta = isObject(params['_meta']) ? params['_meta'] : {}
    const cancel = (): void => { this.#cancel(id, signal.reason) }
    const result = new Promise<unknown>((resolve, reject) => { this.#running.set(id, { watcher, resolve, reject }) })
    signal.addEventListener('abort', cancel, { once: true })
    try {
      this.#send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...meta, progressToken: id } } })
      return await result
    } finally {
      this.#running.delete(id)
      signal.removeEventListener('abort', cancel)
    }
  }

  /** @returns whether the message belongs to a call, so that nobody else needs it */
  take (message: JsonObject): boolean {
    const { id, method, params } = message
    if (method === 'notifications/progress' && isObject(params)) return this.#progress(params)
    if (typeof id !== 'number' || id < firstId || method !== undefined) return false
    const call = this.#running.get(id)
    const { error, result } = message
    if (!isObject(error)) call?.resolve(result)
    else {
      const { code, message: text } = error
      call?.reject(new CallError(
        typeof code === 'number' ? code : 0, typeof text === 'string' ? text : 'an error without a message'
      ))
    }
    return true
  }

  /** The connection has ended. */
  end (): void {
    for (const { reject } of this.#running.values()) reject(new ConnectionEnded('the connection was closed'))
  }

  #progress (params: JsonObject): boolean {
    const { progressToken, progress, total, message } = params
    const call = typeof progressToken === 'number' ? this.#running.get(progressToken) : undefined
    if (call === undefined || typeof progress !== 'number') return false
    call.watcher.progress(
      progress, typeof total === 'number' ? total : undefined, typeof message === 'string' ? message : undefined
    )
    return true
  }

  #cancel (id: number, reason: unknown): void {
    const call = this.#running.get(id)
    if (call === undefined) return
    const error = reason instanceof Error ? reason : new Error('the call was cancelled')
    try {
      this.#send({
        jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: error.message }
      })
    } catch {
      // it has ended
    }
    call.reject(error)
  }
}

/** The server ended, or closed its output, before it answered. */
export class ConnectionEnded extends ServerFault {
  readonly code = 'CONNECTION_CLOSED'
}
