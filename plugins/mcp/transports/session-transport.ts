import {
  WebStandardStreamableHTTPServerTransport, type JSONRPCMessage, type RequestId
} from '@modelcontextprotocol/server'
import type { EndpointCall } from '../../../kernel/index.ts'
import { Batch } from './batches.ts'

/** The SDK's transport of sessions, with batches whose requests are counted, begun and answered one by one. */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #expected = new WeakMap<Request, { batch: Batch, charge: EndpointCall['charge'] }>()
  /** Requests of batches that were not answered yet. */
  readonly #requests = new Map<RequestId, Batch>()

  /** Registers that a request contains a batch. Its first message was counted with the request. */
  expectBatch (request: Request, call: EndpointCall): void {
    let counted = false
    const charge: EndpointCall['charge'] = () => {
      if (counted) return call.charge()
      counted = true
      return undefined
    }
    this.#expected.set(request, { batch: new Batch(), charge })
  }

  /** Intercepts the messages between the SDK and the server that was connected to it. */
  takeBatches (): void {
    const deliver = this.onmessage
    if (deliver === undefined) throw new Error('no server is connected')
    this.onmessage = (message, extra) => {
      const expected = extra?.request === undefined ? undefined : this.#expected.get(extra.request)
      if ('method' in message && message.method === 'notifications/cancelled') {
        this.#forget(message.params?.['requestId'])
      }
      if (expected === undefined || !('method' in message) || !('id' in message)) return deliver(message, extra)
      const { batch, charge } = expected
      const { id } = message
      const send = (answer: JSONRPCMessage): Promise<void> => {
        this.#take(id)
        return super.send(answer)
      }
      const refusal = charge()
      if (refusal !== undefined) return void batch.refuse(id, refusal, send).catch(() => {}) // the session has ended
      this.#requests.set(id, batch)
      batch.begin(id, () => { deliver(message, extra) }, send)
    }
  }

  override async send (message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    const id = 'method' in message ? undefined : message.id
    const batch = id === undefined ? undefined : this.#take(id)
    if (batch === undefined) return await super.send(message, options)
    await batch.answer(message, answer => super.send(answer, options))
  }

  override async close (): Promise<void> {
    for (const batch of new Set(this.#requests.values())) batch.close()
    await super.close()
  }

  #take (id: RequestId): Batch | undefined {
    const batch = this.#requests.get(id)
    this.#requests.delete(id)
    return batch
  }

  /** Removes a cancelled request, which gets no answer. */
  #forget (id: unknown): void {
    if (typeof id === 'string' || typeof id === 'number') this.#take(id)?.forget(id)
  }
}
