import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { isObject, messageOf } from '../../../kernel/index.ts'
import { Calls, ConnectionEnded } from './calls.ts'
import { Lines } from './lines.ts'
import type { ServerProcess } from './server-process.ts'

/** The most that may wait to be read by a server, in bytes. */
const unreadBytesMax = 64 * 1_048_576
/** The most that a server may send unasked in `window_ms`: notifications, requests and lines that are none. */
const flood = { window_ms: 5_000, messages: 20_000, bytes: 64 * 1_048_576 }
/** The length of a line that a message quotes, in characters. */
const quoteMax = 200

interface StdioTransportOptions {
  process: ServerProcess
  /** Checks a message. @throws Error when it is not of JSON-RPC */
  parse (value: unknown): JSONRPCMessage
  /** Told once of the first line that is no message. */
  garbage (quote: string): void
}

/**
 * Messages to and from the process of a server, a line each. A server that sends too much at once, or unasked, is
 * ended; `fault` says so then.
 */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  /** The client recognizes a process by its fields `pid` and `stderr`, and negotiates the protocol accordingly. */
  readonly stderr = null
  /** Requests that go past the client's package. */
  readonly calls = new Calls(message => { this.#write(message) })
  readonly #options: StdioTransportOptions
  readonly #window = { since_ms: 0, messages: 0, bytes: 0 }
  #quoted = false
  #closed = false
  #fault: string | undefined

  constructor (options: StdioTransportOptions) {
    this.#options = options
  }

  get pid (): number {
    return this.#options.process.pid
  }

  /** What the server did wrong, for which it was ended. */
  get fault (): string | undefined {
    return this.#fault
  }

  async start (): Promise<void> {
    const { process } = this.#options
    const lines = new Lines(
      line => { this.#take(line) },
      bytes => { this.#refuse(`it sent a message of more than ${bytes} bytes`) }
    )
    process.stdout.on('data', (chunk: Buffer) => { if (!this.#closed) lines.add(chunk) })
    process.stdout.on('error', error => { this.onerror?.(error) })
    process.stdout.once('close', () => { this.#close() })
    process.stdin.on('error', error => { this.onerror?.(error) })
    void this.#closeAfter(process.exited)
  }

  /** What the server wrote last is read before. */
  async #closeAfter (exited: Promise<unknown>): Promise<void> {
    await exited
    setImmediate(() => { this.#close() })
  }

  async send (message: JSONRPCMessage): Promise<void> {
    this.#write(message)
  }

  #write (message: object): void {
    const { stdin } = this.#options.process
    if (this.#closed || !stdin.writable) throw new ConnectionEnded('the server has ended')
    stdin.write(`${JSON.stringify(message)}\n`)
    if (stdin.writableLength > unreadBytesMax) this.#refuse('it does not read what is sent to it')
  }

  async close (): Promise<void> {
    this.#close()
    await this.#options.process.end()
  }

  #take (line: Buffer): void {
    if (this.#closed) return
    let message
    try {
      const value: unknown = JSON.parse(line.toString('utf8'))
      if (isObject(value) && this.calls.take(value)) {
        if (value['method'] !== undefined) this.#count(line.length)
        return
      }
      message = this.#options.parse(value)
    } catch (error) {
      this.#count(line.length)
      if (!this.#quoted) this.#options.garbage(
        `${line.toString('utf8', 0, quoteMax)} (${messageOf(error).slice(0, quoteMax)})`
      )
      this.#quoted = true
      return
    }
    if ('method' in message) this.#count(line.length)
    this.onmessage?.(message)
  }

  /** Counts what came unasked. */
  #count (bytes: number): void {
    const window = this.#window
    const now_ms = performance.now()
    if (now_ms - window.since_ms > flood.window_ms) Object.assign(window, { since_ms: now_ms, messages: 0, bytes: 0 })
    window.messages++
    window.bytes += bytes
    if (window.messages > flood.messages || window.bytes > flood.bytes) {
      this.#refuse(`it sent more than ${flood.messages} messages, or ${flood.bytes} bytes, within ${flood.window_ms / 1000} s without being asked`)
    }
  }

  #refuse (fault: string): void {
    if (this.#closed) return
    this.#fault = fault
    void this.close()
  }

  #close (): void {
    if (this.#closed) return
    this.#closed = true
    this.calls.end()
    this.onclose?.()
  }
}
