import type { Readable, Writable } from 'node:stream'
import { parseJSONRPCMessage, type JSONRPCMessage, type RequestId, type Transport } from '@modelcontextprotocol/server'
import { decodeJson, isObject, messageOf } from '../../../kernel/index.ts'
import { Batch } from './batches.ts'

/** The longest line that is read, in bytes. */
const lineBytesMax = 4_194_304
/** The number of messages that a batch may have. */
const batchMax = 100
/**
 * Limits on the bytes that the client has not read: above the first, reports of running tools are dropped; above the
 * second, no input is read; above the third, the connection is closed. One message may exceed each limit.
 */
const unread = { reportsMax: 1_048_576, readingMax: 8_388_608, bytesMax: 67_108_864 }

/** A batch, with its answers as text, until all answers are there. */
interface Line { batch: Batch, missing: Set<RequestId>, answers: string[] }

/**
 * JSON-RPC with one message a line. An invalid line is answered with an error, and the next line is read. When the
 * input ends, the pending requests are still answered.
 */
export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #input: Readable
  readonly #output: Writable
  readonly #drain_ms: number
  readonly #requests = new Map<RequestId, Line | undefined>()
  #line: Buffer[] = []
  #bytes = 0
  #overlong = false
  #inputEnded = false
  #closed = false
  #grace: NodeJS.Timeout | undefined

  /** @param drain_ms how long pending answers are awaited after the end of the input, in milliseconds */
  constructor (input: Readable, output: Writable, drain_ms: number) {
    this.#input = input
    this.#output = output
    this.#drain_ms = drain_ms
  }

  async start (): Promise<void> {
    this.#input.on('data', (chunk: Buffer) => { this.#take(chunk) })
    for (const event of ['end', 'close', 'error']) this.#input.on(event, () => { this.#endInput() })
    this.#output.on('error', () => { void this.close() }) // the client does not read any more
    this.#output.on('drain', () => { this.#input.resume() })
  }

  async send (message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    const isReport = 'method' in message
      && (message.method === 'notifications/progress' || message.method === 'notifications/message')
    if (isReport && this.#output.writableLength > unread.reportsMax) return
    const id = 'method' in message ? undefined : message.id
    const line = id === undefined ? undefined : this.#requests.get(id)
    if (id !== undefined && line !== undefined) {
      await line.batch.answer(message, (_answer, text) => { this.#gatherAnswer(id, line, text) })
    } else {
      if (id !== undefined) this.#requests.delete(id)
      this.#write(JSON.stringify(message))
    }
    this.#closeWhenAnswered()
  }

  async close (): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#grace)
    for (const line of new Set(this.#requests.values())) line?.batch.close()
    this.#input.removeAllListeners('data').pause()
    // The written messages are flushed before the process ends, but for at most a second if the client does not read.
    if (this.#output.writableLength > 0 && !this.#output.errored) await new Promise<void>(resolve => {
      const late = setTimeout(resolve, 1_000)
      this.#output.once('error', resolve).end(() => {
        clearTimeout(late)
        resolve()
      })
    })
    this.#input.destroy() // an open input would keep the process alive
    this.#output.destroy()
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

  /** Handles a batch, which only revision 2025-03-26 has. */
  #deliverBatch (values: unknown[]): void {
    if (values.length === 0 || values.length > batchMax) {
      return this.#refuse(-32600, `Invalid Request: a batch has 1 to ${batchMax} messages`)
    }
    const line: Line = {
      batch: new Batch(),
      missing: new Set(
        values.flatMap(value => isObject(value) && 'method' in value && isId(value['id']) ? [value['id']] : [])
      ),
      answers: []
    }
    for (const value of values) this.#deliver(value, line.missing.size === 0 ? undefined : line)
  }

  #deliver (value: unknown, line: Line | undefined): void {
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      const id = isObject(value) && isId(value['id']) ? value['id'] : null
      if (id !== null) line?.missing.delete(id)
      return this.#refuse(-32600, 'Invalid Request: not a message of JSON-RPC 2.0', id)
    }
    if ('method' in message && 'id' in message) {
      const { id } = message
      if (this.#requests.has(id)) {
        return this.#refuse(-32600, 'Invalid Request: a request with this id is still being answered', id)
      }
      this.#requests.set(id, line)
      if (line !== undefined) {
        return line.batch.begin(
          id, () => { this.onmessage?.(message) }, (_answer, text) => { this.#gatherAnswer(id, line, text) }
        )
      }
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#forget(message.params?.['requestId'])
    }
    this.onmessage?.(message)
  }

  /** Keeps an answer to a request of a batch, and writes all answers when the last one is there. */
  #gatherAnswer (id: RequestId, { missing, answers }: Line, text: string): void {
    this.#requests.delete(id)
    missing.delete(id)
    answers.push(text)
    if (missing.size === 0) this.#write(`[${answers.join(',')}]`)
    this.#closeWhenAnswered()
  }

  /** Removes a cancelled request, which gets no answer. */
  #forget (id: unknown): void {
    if (!isId(id)) return
    const line = this.#requests.get(id)
    this.#requests.delete(id)
    line?.batch.forget(id)
    line?.missing.delete(id)
    if (line?.missing.size === 0 && line.answers.length > 0) this.#write(`[${line.answers.join(',')}]`)
    this.#closeWhenAnswered()
  }

  #refuse (code: number, message: string, id: RequestId | null = null): void {
    this.#write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }

  /** @param text one message, or a batch of messages */
  #write (text: string): void {
    if (this.#closed) return
    if (this.#output.writableLength > unread.bytesMax) return void this.close()
    this.#output.write(`${text}\n`)
  }

  #endInput (): void {
    if (this.#inputEnded) return
    this.#inputEnded = true
    this.#grace = setTimeout(() => { void this.close() }, this.#drain_ms)
    this.#closeWhenAnswered()
  }

  #closeWhenAnswered (): void {
    // Checked later: the last messages of the input are still being handed over.
    if (this.#inputEnded) setImmediate(() => { if (this.#requests.size === 0) void this.close() })
  }
}

function isId (value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}
