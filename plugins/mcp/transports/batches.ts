import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { isObject, type SkilletError } from '../../../kernel/index.ts'
import { outputUri } from '../agent/execute.ts'

/** What the answers to all requests of one batch may be together, in bytes; the first is given whatever its length. */
export const answersBytesMax = 8 * 1_048_576
/** Requests of a batch that are answered at once; the others wait. */
const atOnceMax = 4
/** JSON-RPC's code for what a server refuses by rules of its own. */
const refusedCode = -32_000

type Send = (message: JSONRPCMessage, text: string) => Promise<void> | void

/**
 * The requests of one batch: begun a few at a time, answered one after the other, with turns between for all else that
 * the process does.
 */
export class Batch {
  readonly #waiting: { id: RequestId, begin: () => void, send: Send }[] = []
  #running = 0
  #left = answersBytesMax
  #answered = false
  #full = false
  #closed = false
  #turn = Promise.resolve()

  /** Begins a request, now or when others are answered; where no answer fits any more, it is refused. */
  begin (id: RequestId, begin: () => void, send: Send): void {
    this.#waiting.push({ id, begin, send })
    this.#next()
  }

  /**
   * Sends the answer to a request that was begun, or what stands in its place: resolves when it was sent, in its turn.
   */
  async answer (message: JSONRPCMessage, send: Send): Promise<void> {
    try {
      await this.#inTurn(message, send)
    } finally {
      this.#running--
      this.#next()
    }
  }

  /** Answers a request that is not begun at all. */
  async refuse (id: RequestId, { code, message, details }: SkilletError, send: Send): Promise<void> {
    await this.#inTurn({ jsonrpc: '2.0', id, error: { code: refusedCode, message, data: { code, ...details } } }, send)
  }

  /** Gives up a request, which is not answered. @param begun whether it was begun */
  forget (id: RequestId): void {
    const at = this.#waiting.findIndex(one => one.id === id)
    if (at !== -1) this.#waiting.splice(at, 1)
    else {
      this.#running--
      this.#next()
    }
  }

  /** Begins nothing more. */
  close (): void {
    this.#closed = true
    this.#waiting.length = 0
  }

  #next (): void {
    while (!this.#closed && this.#running < atOnceMax) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#running++
      if (this.#full) this.answer(notBegun(next.id), next.send).catch(() => {}) // nobody is there any more
      else next.begin()
    }
  }

  async #inTurn (message: JSONRPCMessage, send: Send): Promise<void> {
    const before = this.#turn
    const sent = (async () => {
      await before
      await new Promise(resolve => { setImmediate(resolve) })
      await this.#send(message, send)
    })()
    this.#turn = sent.catch(() => {}) // its sender hears of it
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

/** What stands in the place of an answer that does not fit. */
function leftOut (message: JSONRPCMessage): JSONRPCMessage {
  const execution_id = executionOf(message)
  const where = execution_id === undefined ? '' : `; whole output: ${outputUri(execution_id)}`
  return tooLarge('id' in message ? message.id : undefined, `It was done, but its answer is left out: ${limit}${where}`, execution_id === undefined ? {} : { execution_id })
}

function notBegun (id: RequestId): JSONRPCMessage {
  return tooLarge(id, `It was not begun: ${limit}, and those before it are; ask again without them`, {})
}

function tooLarge (id: RequestId | undefined, message: string, more: { execution_id?: string }): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: refusedCode, message, data: { code: 'PAYLOAD_TOO_LARGE', limit_bytes: answersBytesMax, ...more } } }
}

/** The id of the execution that an answer tells of. */
function executionOf (message: JSONRPCMessage): string | undefined {
  const result = 'result' in message ? message.result : undefined
  const structured = isObject(result) ? result['structuredContent'] : undefined
  const id = isObject(structured) ? structured['execution_id'] : undefined
  return typeof id === 'string' ? id : undefined
}
