import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { isObject, type SkilletError } from '../../../kernel/index.ts'
import { outputUri } from '../agent/execute.ts'

/** The size limit of all answers to one batch together, in bytes; the first answer is sent whatever its length. */
export const answersBytesMax = 8 * 1_048_576
/** The number of a batch's requests that run at the same time; the other requests wait. */
const atOnceMax = 4
/** The JSON-RPC code for refusals by a server's own rules. */
const refusedCode = -32_000

type Send = (message: JSONRPCMessage, text: string) => Promise<void> | void

/**
 * The requests of one batch. A few requests run at a time, and the answers are sent one after another, with turns of
 * the event loop between them for other work.
 */
export class Batch {
  readonly #waiting: { id: RequestId, begin: () => void, send: Send }[] = []
  #running = 0
  #left = answersBytesMax
  #answered = false
  #full = false
  #closed = false
  #sending = Promise.resolve()

  /**
   * Begins a request, now or when earlier requests have been answered. When no further answer fits, the request is
   * refused.
   */
  begin (id: RequestId, begin: () => void, send: Send): void {
    this.#waiting.push({ id, begin, send })
    this.#next()
  }

  /**
   * Sends the answer to a request, or a shorter replacement when the answer does not fit. Resolves when it was sent,
   * after the answers before it.
   */
  async answer (message: JSONRPCMessage, send: Send): Promise<void> {
    try {
      await this.#inTurn(message, send)
    } finally {
      this.#running--
      this.#next()
    }
  }

  /** Answers a request that was not begun with an error. */
  async refuse (id: RequestId, { code, message, details }: SkilletError, send: Send): Promise<void> {
    await this.#inTurn({ jsonrpc: '2.0', id, error: { code: refusedCode, message, data: { code, ...details } } }, send)
  }

  /**
   * Removes a request, which then gets no answer.
   * @param begun whether it was begun
   */
  forget (id: RequestId): void {
    const at = this.#waiting.findIndex(request => request.id === id)
    if (at !== -1) this.#waiting.splice(at, 1)
    else {
      this.#running--
      this.#next()
    }
  }

  /** Begins no further requests. */
  close (): void {
    this.#closed = true
    this.#waiting.length = 0
  }

  #next (): void {
    while (!this.#closed && this.#running < atOnceMax) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#running++
      if (this.#full) this.answer(notBegun(next.id), next.send).catch(() => {}) // the client has left
      else next.begin()
    }
  }

  async #inTurn (message: JSONRPCMessage, send: Send): Promise<void> {
    const before = this.#sending
    const sent = (async () => {
      await before
      await new Promise(resolve => { setImmediate(resolve) })
      await this.#send(message, send)
    })()
    this.#sending = sent.catch(() => {}) // the caller that sends it handles the error
    await sent
  }

  #send (message: JSONRPCMessage, send: Send): Promise<void> | void {
    const text = JSON.stringify(message)
    const bytes = Buffer.byteLength(text)
    if (bytes <= this.#left || !this.#answered || isError(message)) {
      this.#left -= bytes
      this.#answered = true
      return send(message, text)
    }
    this.#full = true
    const instead = leftOut(message)
    return send(instead, JSON.stringify(instead))
  }
}

function isError (message: JSONRPCMessage): boolean {
  return 'error' in message
}

const limit = `the answers to the requests of one batch may be ${answersBytesMax} bytes together`

/** The error that replaces an answer that does not fit. */
function leftOut (message: JSONRPCMessage): JSONRPCMessage {
  const execution_id = executionOf(message)
  const where = execution_id === undefined ? '' : `; whole output: ${outputUri(execution_id)}`
  return tooLarge(
    'id' in message ? message.id : undefined,
    `It was done, but its answer is left out: ${limit}${where}`,
    execution_id === undefined ? {} : { execution_id }
  )
}

function notBegun (id: RequestId): JSONRPCMessage {
  return tooLarge(id, `It was not begun: ${limit}, and those before it are; ask again without them`, {})
}

function tooLarge (id: RequestId | undefined, message: string, more: { execution_id?: string }): JSONRPCMessage {
  return {
    jsonrpc: '2.0',
    id,
    error: { code: refusedCode, message, data: { code: 'PAYLOAD_TOO_LARGE', limit_bytes: answersBytesMax, ...more } }
  }
}

/** The id of the execution whose result is in an answer. */
function executionOf (message: JSONRPCMessage): string | undefined {
  const result = 'result' in message ? message.result : undefined
  const structured = isObject(result) ? result['structuredContent'] : undefined
  const id = isObject(structured) ? structured['execution_id'] : undefined
  return typeof id === 'string' ? id : undefined
}
