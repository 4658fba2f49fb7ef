import { connect, type Socket } from 'node:net'
import { once } from 'node:events'

/** One reply, as it came over the wire. */
export class Answer {
  readonly status: number
  /** Lower-case names; values of repeated ones joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly bytes: Buffer

  constructor (status: number, headers: ReadonlyMap<string, string>, bytes: Buffer) {
    this.status = status
    this.headers = headers
    this.bytes = bytes
  }

  get text (): string {
    return this.bytes.toString()
  }

  get json (): Record<string, unknown> {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(this.bytes))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Error('the reply is no JSON object')
    }
    return value as Record<string, unknown>
  }

  /** The error in the envelope. */
  get error (): { code: string, message: string, details: Record<string, unknown> } {
    return this.json['error'] as { code: string, message: string, details: Record<string, unknown> }
  }
}

/** A connection that sends whatever it is told to, and reads replies one by one. */
export class Wire {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => {}

  private constructor (socket: Socket) {
    this.#socket = socket
    socket.on('data', chunk => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    const end = (): void => {
      this.#ended = true
      this.#wake()
    }
    socket.on('end', end).on('close', end).on('error', end)
  }

  static async open (port: number, host = '127.0.0.1'): Promise<Wire> {
    const socket = connect({ port, host, allowHalfOpen: true })
    await once(socket, 'connect')
    return new Wire(socket)
  }

  write (data: string | Uint8Array): this {
    if (!this.#socket.destroyed) this.#socket.write(data)
    return this
  }

  /**
   * Resolves when the system has taken what was written, or never will, and a server in this process has had a turn to
   * read it.
   */
  async sent (): Promise<void> {
    await new Promise<void>(resolve => {
      if (this.#socket.destroyed) resolve()
      else this.#socket.once('close', resolve).write('', () => { this.#socket.off('close', resolve); resolve() })
    })
    for (let turns = 0; turns < 3; turns++) await new Promise(resolve => setImmediate(resolve))
  }

  /** Whether the connection is closed, be it that nothing is read from it. */
  get gone (): boolean { return this.#socket.destroyed }

  /** Sends no more, and still reads. */
  halfClose (): void { this.#socket.end() }

  /** Stops and goes on reading, for a client that is slow to take its reply. */
  pause (): void { this.#socket.pause() }
  resume (): void { this.#socket.resume() }

  /**
   * The next reply.
   * @param toHead it answers a HEAD: no body follows
   * @throws Error when the connection ended before it was whole
   */
  async read (toHead = false): Promise<Answer> {
    const mark = await this.#find('\r\n\r\n')
    const [first = '', ...lines] = this.#received.subarray(0, mark).toString('latin1').split('\r\n')
    const headers = new Map<string, string>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      const value = line.slice(colon + 1).trim()
      headers.set(name, headers.has(name) ? `${headers.get(name)},${value}` : value)
    }
    this.#drop(mark + 4)
    const status = Number(first.split(' ')[1])
    if (status === 100) return this.read(toHead)
    return new Answer(
      status, headers, toHead || status === 204 || status === 304 ? Buffer.alloc(0) : await this.#body(headers)
    )
  }

  /** Resolves when the server has ended the connection. */
  async ended (): Promise<void> {
    while (!this.#ended) await this.#more()
  }

  /** All that comes until the server ends the connection. */
  async rest (): Promise<string> {
    await this.ended()
    return this.#received.toString('latin1')
  }

  destroy (): void {
    this.#socket.destroy()
  }

  async #body (headers: ReadonlyMap<string, string>): Promise<Buffer> {
    const length = headers.get('content-length')
    if (length !== undefined) return this.#take(Number(length))
    if (headers.get('transfer-encoding') !== 'chunked') {
      await this.ended()
      return this.#take(this.#received.length)
    }
    const parts: Buffer[] = []
    for (;;) {
      const mark = await this.#find('\r\n')
      const size = Number.parseInt(this.#received.subarray(0, mark).toString('latin1'), 16)
      this.#drop(mark + 2)
      const part = await this.#take(size)
      parts.push(part)
      await this.#take(2)
      if (size === 0) return Buffer.concat(parts)
    }
  }

  async #take (size: number): Promise<Buffer> {
    while (this.#received.length < size) await this.#more()
    const taken = Buffer.from(this.#received.subarray(0, size))
    this.#drop(size)
    return taken
  }

  async #find (text: string): Promise<number> {
    for (;;) {
      const mark = this.#received.indexOf(text)
      if (mark !== -1) return mark
      if (this.#ended) throw new Error('the connection ended before a whole reply')
      await this.#more()
    }
  }

  #drop (size: number): void {
    this.#received = this.#received.subarray(size)
  }

  async #more (): Promise<void> {
    if (this.#ended) throw new Error('the connection ended before a whole reply')
    await new Promise<void>(resolve => { this.#wake = resolve })
  }
}
