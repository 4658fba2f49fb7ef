import { hashKey } from '../../kernel/index.ts'

export type Message = Record<string, unknown>

/** Requests of one key to `/mcp` and `/sse`, as they go over the wire. */
export class RawHttp {
  readonly #url: string
  readonly #key: string | undefined

  constructor (url: string, key?: string) {
    this.#url = url
    this.#key = key
  }

  ask (
    path: string,
    { method = 'POST', body, headers = {} }: { method?: string, body?: unknown, headers?: Record<string, string> }
  ): Promise<Response> {
    return fetch(`${this.#url}${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        accept: 'application/json, text/event-stream',
        ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
        ...headers
      },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
  }

  /** Opens a session. @returns the headers of what follows in it */
  async open (protocolVersion = '2025-11-25'): Promise<Record<string, string>> {
    const opened = await this.ask('/mcp', { body: {
      jsonrpc: '2.0',
      id: 'open',
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    } })
    await opened.text()
    return { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': protocolVersion }
  }

  /** Asks in a session, and waits for the messages that answer. */
  async request (session: Record<string, string>, body: unknown): Promise<Message[]> {
    const stream = new EventStream(await this.ask('/mcp', { body, headers: session }))
    await stream.ended
    return stream.messages
  }

  /** A request of revision 2026-07-28. */
  modern (method: string, params: object = {}, meta: object = {}): Promise<Response> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      ...meta
    }
    const named = 'name' in params ? params.name : 'taskId' in params ? params.taskId : undefined
    const name = named === undefined ? {} : { 'mcp-name': String(named) }
    return this.ask('/mcp', {
      body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name }
    })
  }
}

/** A reply as server-sent events, read as it comes. */
export class EventStream {
  readonly messages: Message[] = []
  text = ''
  /** Resolves when the reply ends, or its connection does. */
  readonly ended: Promise<void>
  readonly status: number
  hasEnded = false

  constructor ({ status, body }: Response) {
    this.status = status
    this.ended = this.#read(body)
  }

  async #read (body: ReadableStream<Uint8Array> | null): Promise<void> {
    try {
      if (body === null) return
      let rest = ''
      // Its types lack the iterator.
      for await (const piece of body.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
        this.text += piece
        const lines = (rest + piece).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (line.startsWith('data: {')) this.messages.push(JSON.parse(line.slice('data: '.length)) as Message)
        }
      }
    } catch {
      // the connection ended
    } finally {
      this.hasEnded = true
    }
  }
}

/** Named keys as the configuration file has them. */
export function keyTables (keys: Readonly<Record<string, { key: string, settings?: string }>>): string {
  return Object.entries(keys)
    .map(([name, { key, settings = '' }]) => `[server.keys.${name}]\nhash = "${hashKey(key)}"\n${settings}\n`)
    .join('')
}
