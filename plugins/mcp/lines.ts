import type { Readable, Writable } from 'node:stream'
import { parseJSONRPCMessage, type JSONRPCMessage, type RequestId, type Transport } from '@modelcontextprotocol/server'
import { decodeJson, isObject, messageOf } from '../../kernel/index.ts'

/** The longest line that is read, in bytes. */
const lineBytesMax = 4_194_304
/** Messages in a batch. */
const batchMax = 100
/** From here on reports of running tools are dropped, in bytes that the client has not taken; from there on nothing more is read. */
const unread = { reportsMax: 1_048_576, readingMax: 8_388_608 }

/** A batch's answers, until there are all. */
interface Batch { missing: Set<RequestId>, answers: JSONRPCMessage[] }

/**
 * JSON-RPC, a message a line. A line that is none is answered with an error, and the next one is read. When the input
 * ends, what was asked is still answered.
 */
export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #input: Readable
  readonly #output: Writable
  readonly #drain_ms: number
  readonly #asked = new Map<RequestId, Batch | undefined>()
  #line: Buffer[] = []
  #bytes = 0
  #overlong = false
  #inputEnded = false
  #closed = false
  #grace: NodeJS.Timeout | undefined

  /** @param drain_ms how long answers are waited for after the input's end, in milliseconds */
  constructor (input: Readable, output: Writable, drain_ms: number) {
    this.#input = input
    this.#output = output
    this.#drain_ms = drain_ms
  }

  async start (): Promise<void> {
    this.#input.on('data', (chunk: Buffer) => { this.#take(chunk) })
    for (const event of ['end', 'close', 'error']) this.#input.on(event, () => { this.#endInput() })
    this.#output.on('error', () => { void this.close() }) // nobody reads any more
    this.#output.on('drain', () => { this.#input.resume() })
  }

  async send (message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    const isReport = 'method' in message && (message.method === 'notifications/progress' || message.method === 'notifications/message')
    if (isReport && this.#output.writableLength > unread.reportsMax) return
    const id = 'method' in message ? undefined : message.id
    const batch = id === undefined ? undefined : this.#asked.get(id)
    if (id !== undefined) this.#asked.delete(id)
    if (batch === undefined || id === undefined) this.#write(message)
    else {
      batch.answers.push(message)
      batch.missing.delete(id)
      if (batch.missing.size === 0) this.#write(batch.answers)
    }
    this.#closeWhenAnswered()
  }

  async close (): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#grace)
    this.#input.removeAllListeners('data').pause()
    // What was written goes out before the process ends; a client that takes nothing is not waited for.
    if (this.#output.writableLength > 0 && !this.#output.errored) await new Promise<void>(resolve => {
      const late = setTimeout(resolve, 1_000)
      this.#output.once('error', resolve).end(() => {
        clearTimeout(late)
        resolve()
      })
    })
    this.onclose?.()
  }

  #take (chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      this.#gather(rest.subarray(0, end))
      this.#endLine()
      rest = rest.subarray(end + 1)
    }
    this.#gather(rest)
    if (this.#output.writableLength > unread.readingMax) this.#input.pause()
  }

  #gather (piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes > lineBytesMax) {
      this.#overlong = true
      this.#line = []
    } else if (piece.length > 0) this.#line.push(piece)
  }

  #endLine (): void {
    const line = Buffer.concat(this.#line)
    const overlong = this.#overlong
    this.#line = []
    this.#bytes = 0
    this.#overlong = false
    if (overlong) return this.#refuse(-32600, `Invalid Request: a message is longer than ${lineBytesMax} bytes`)
    if (line.every(byte => byte === 32 || byte === 9 || byte === 13)) return
    let value: unknown
    try {
      value = decodeJson(line)
    } catch (error) {
      return this.#refuse(-32700, `Parse error: ${messageOf(error).replace(/^body /, '')}`)
    }
    if (Array.isArray(value)) this.#deliverBatch(value)
    else this.#deliver(value, undefined)
  }

  /** Revision 2025-03-26 has batches. */
  #deliverBatch (values: unknown[]): void {
    if (values.length === 0 || values.length > batchMax) return this.#refuse(-32600, `Invalid Request: a batch has 1 to ${batchMax} messages`)
    const batch: Batch = { missing: new Set(values.flatMap(value => isObject(value) && 'method' in value && isId(value['id']) ? [value['id']] : [])), answers: [] }
    for (const value of values) this.#deliver(value, batch.missing.size === 0 ? undefined : batch)
  }

  #deliver (value: unknown, batch: Batch | undefined): void {
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      const id = isObject(value) && isId(value['id']) ? value['id'] : null
      if (id !== null) batch?.missing.delete(id)
      return this.#refuse(-32600, 'Invalid Request: not a message of JSON-RPC 2.0', id)
    }
    if ('method' in message && 'id' in message) {
      if (this.#asked.has(message.id)) return this.#refuse(-32600, 'Invalid Request: a request with this id is still being answered', message.id)
      this.#asked.set(message.id, batch)
    } else if ('method' in message && message.method === 'notifications/cancelled') this.#forget(message.params?.['requestId'])
    this.onmessage?.(message)
  }

  /** A cancelled request is not answered. */
  #forget (id: unknown): void {
    if (!isId(id)) return
    const batch = this.#asked.get(id)
    this.#asked.delete(id)
    batch?.missing.delete(id)
    if (batch?.missing.size === 0 && batch.answers.length > 0) this.#write(batch.answers)
    this.#closeWhenAnswered()
  }

  #refuse (code: number, message: string, id: RequestId | null = null): void {
    this.#write({ jsonrpc: '2.0', id, error: { code, message } })
  }

  #write (message: unknown): void {
    this.#output.write(`${JSON.stringify(message)}\n`)
  }

  #endInput (): void {
    if (this.#inputEnded) return
    this.#inputEnded = true
    this.#grace = setTimeout(() => { void this.close() }, this.#drain_ms)
    this.#closeWhenAnswered()
  }

  #closeWhenAnswered (): void {
    // Later: what the input brought last is on its way to be asked.
    if (this.#inputEnded) setImmediate(() => { if (this.#asked.size === 0) void this.close() })
  }
}

function isId (value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}
