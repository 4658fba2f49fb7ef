import { Client, ProtocolError, type CallToolResult, type Transport } from '@modelcontextprotocol/client'
import { isObject, readVersion, type JsonObject, type LogLevel } from '../../../kernel/index.ts'
import { ServerFault } from '../server-fault.ts'
import { anyValue } from './any-value.ts'
import { logLevelOf } from './log-level.ts'

/** The tools of a list that are read: their number, their size in bytes of JSON, and the pages. */
const listMax = { tools: 10_000, bytes: 16 * 1_048_576, pages: 1_000 }
/** A time that is not reached: limits of calls are kept elsewhere. In milliseconds. */
const never_ms = 2_147_483_647
/** How long a server may take to say that it knows no newer protocol, in milliseconds. */
const probe_ms = 3_000
const methodNotFound = -32_601

export type Era = 'legacy' | 'modern'

export interface ConnectOptions {
  start_ms: number
  /** The protocol that the server is known to speak, so that it need not be asked. */
  era: Era | undefined
  listChanged (): void
  logged (level: LogLevel, text: string): void
}

export interface ListedTools { tools: JsonObject[], of?: number }

export interface ToolCall {
  /** The name of the tool at the server. */
  name: string
  parameters: JsonObject
  signal: AbortSignal
  progress (done: number, total: number | undefined, message: string | undefined): void
}

/** A session with a server. */
export class Connection {
  readonly #client: Client
  /** The schemas of tools of which the client repeats parameters in headers. */
  readonly #withHeaders = new Map<string, JsonObject>()

  /** Resolves when the session is over. */
  readonly closed: Promise<void>

  private constructor (client: Client) {
    this.#client = client
    this.closed = new Promise(resolve => { client.onclose = () => { resolve() } })
  }

  /**
   * Begins a session by the newest protocol that the server knows.
   * @param signal aborts with the reason of its own
   * @throws Error when the server does not answer, or speaks no protocol that is known
   */
  static async open (
    transport: Transport, { start_ms, era, listChanged, logged }: ConnectOptions, signal: AbortSignal
  ): Promise<Connection> {
    const client = new Client({ name: 'skillet', version: readVersion().version }, {
      capabilities: {},
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(probe_ms, Math.ceil(start_ms / 3)) } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 100, onChanged: listChanged } }
    })
    client.onerror = () => {} // every error of a message is the error of a call, too, or harms nothing
    client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => {
      logged(logLevelOf(level), typeof data === 'string' ? data : JSON.stringify(data) ?? '')
    })
    await client.connect(transport, {
      signal, timeout: never_ms, ...(era === 'legacy' && { prior: { kind: 'legacy' } as const })
    })
    return new Connection(client)
  }

  get era (): Era {
    return this.#client.getProtocolEra() ?? 'legacy'
  }

  get server (): { name: string, version: string } | undefined {
    const version = this.#client.getServerVersion()
    return version === undefined ? undefined : { name: version.name, version: version.version }
  }

  get instructions (): string | undefined {
    return this.#client.getInstructions()
  }

  /** Reads the list of tools, page by page, as far as it is of use. */
  async listTools (signal: AbortSignal): Promise<ListedTools> {
    const tools: JsonObject[] = []
    let bytes = 0
    let cursor: string | undefined
    this.#withHeaders.clear()
    for (let page = 0; page < listMax.pages; page++) {
      const result = await this.#listPage(cursor, signal)
      for (const tool of result.tools) {
        const text = JSON.stringify(tool)
        bytes += text.length
        if (tools.length >= listMax.tools || bytes > listMax.bytes) return { tools, of: tools.length + 1 }
        tools.push(tool)
        if (text.includes('"x-mcp-header"') && isObject(tool['inputSchema'])) {
          this.#withHeaders.set(String(tool['name']), tool['inputSchema'])
        }
      }
      if (result.next === undefined || result.next === cursor) return { tools }
      cursor = result.next
    }
    return { tools, of: tools.length + 1 }
  }

  /** Calls a tool, once. The session aborts the call at the server when the signal aborts. */
  async call ({ name, parameters, signal, progress }: ToolCall): Promise<CallToolResult> {
    const inputSchema = { ...this.#withHeaders.get(name), type: 'object' as const }
    return await this.#client.callTool({ name, arguments: parameters }, {
      signal, timeout: never_ms,
      // With a definition, the client neither checks the output nor repeats the call.
      toolDefinition: { name, inputSchema },
      onprogress: report => { progress(report.progress, report.total, report.message) }
    })
  }

  async close (): Promise<void> {
    await this.#client.close()
  }

  async #listPage (cursor: string | undefined, signal: AbortSignal): Promise<{ tools: JsonObject[], next?: string }> {
    let result: unknown
    try {
      const params = cursor === undefined ? {} : { cursor }
      result = await this.#client.request({ method: 'tools/list', params }, anyValue, { signal, timeout: never_ms })
    } catch (error) {
      if (error instanceof ProtocolError && error.code === methodNotFound) return { tools: [] }
      throw error
    }
    if (!isObject(result) || !Array.isArray(result['tools'])) {
      throw new ServerFault('its answer to tools/list holds no list of tools')
    }
    const { nextCursor: next } = result
    return {
      tools: result['tools'].filter(isObject), ...(typeof next === 'string' && next !== '' && { next })
    }
  }
}
