import {
  Client, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, LOG_LEVEL_META_KEY, PROTOCOL_VERSION_META_KEY,
  ProtocolError, ProtocolErrorCode, type ClientContext, type Transport
} from '@modelcontextprotocol/client'
import { isObject, messageOf, readVersion, type JsonObject, type LogLevel } from '../../../kernel/index.ts'
import type { Calls } from '../process/calls.ts'
import { ServerFault } from '../server-fault.ts'
import { anyValue } from './any-value.ts'
import { logLevelOf } from './log-level.ts'
import { answersTo, askingCapabilities, askingMethods, questionOf, type Ask } from './questions.ts'

/** The tools of a list that are read: their number, their size in bytes of JSON, and the pages. */
const listMax = { tools: 10_000, bytes: 16 * 1_048_576, pages: 1_000 }
/** A time that is not reached: limits of calls are kept elsewhere. In milliseconds. */
const never_ms = 2_147_483_647
/** How long a server may take to say that it knows no newer protocol, in milliseconds. */
const probe_ms = 3_000
const methodNotFound = -32_601
/** How often a server may answer a call with questions. */
const roundsMax = 32

export type Era = 'legacy' | 'modern'

export interface ConnectOptions {
  start_ms: number
  /** The protocol that the server is known to speak, so that it need not be asked. */
  era: Era | undefined
  listChanged (): void
  logged (level: LogLevel, text: string): void
  /** Answers what the server asks by a request of its own, which names no call. */
  asked: Ask
}

export interface ListedTools { tools: JsonObject[], of?: number }

export interface ToolCall {
  /** The name of the tool at the server. */
  name: string
  parameters: JsonObject
  signal: AbortSignal
  progress (done: number, total: number | undefined, message: string | undefined): void
  /** Answers what the server asks in this call. */
  ask: Ask
}

/** What a call sends: its parameters and, after questions, the answers and the state that the server keeps. */
interface CallParams { name: string, arguments: JsonObject, inputResponses?: JsonObject, requestState?: unknown }

/** A session with a server. */
export class Connection {
  readonly #client: Client
  /** Where calls go past the client. */
  readonly #calls: Calls | undefined
  /** How many calls run. */
  calls = 0
  /** The schemas of tools of which the client repeats parameters in headers. */
  readonly #withHeaders = new Map<string, JsonObject>()

  /** Resolves when the session is over. */
  readonly closed: Promise<void>

  private constructor (client: Client, calls: Calls | undefined) {
    this.#client = client
    this.#calls = calls
    this.closed = new Promise(resolve => { client.onclose = () => { resolve() } })
  }

  /**
   * Begins a session by the newest protocol that the server knows.
   * @param signal aborts with the reason of its own
   * @throws Error when the server does not answer, or speaks no protocol that is known
   */
  static async open (
    transport: Transport & { readonly calls?: Calls }, { start_ms, era, listChanged, logged, asked }: ConnectOptions,
    signal: AbortSignal
  ): Promise<Connection> {
    const client = new Client(clientInfo(), {
      capabilities: askingCapabilities,
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(probe_ms, Math.ceil(start_ms / 3)) } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 100, onChanged: listChanged } }
    })
    client.onerror = () => {} // every error of a message is the error of a call, too, or harms nothing
    client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => {
      logged(logLevelOf(level), typeof data === 'string' ? data : JSON.stringify(data) ?? '')
    })
    answerRequests(client, asked)
    await client.connect(transport, {
      signal, timeout: never_ms, ...(era === 'legacy' && { prior: { kind: 'legacy' } as const })
    })
    return new Connection(client, transport.calls)
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

  /**
   * Calls a tool, once, and answers what the server asks meanwhile. The session aborts the call at the server when the
   * signal aborts.
   * @returns what the server answered, which may be anything
   */
  async call (call: ToolCall): Promise<unknown> {
    const params = { name: call.name, arguments: call.parameters }
    this.calls++
    try {
      return await this.#inRounds(call, params)
    } finally {
      this.calls--
    }
  }

  async #inRounds (call: ToolCall, params: CallParams): Promise<unknown> {
    let result = await this.#send(call, params)
    for (let round = 0; isObject(result) && result['resultType'] === 'input_required'; round++) {
      if (round === roundsMax) throw new ServerFault(`it asked ${roundsMax} times, and did not end the call`)
      const { inputRequests, requestState } = result
      const inputResponses = await answersTo(inputRequests, call.ask, call.signal)
      result = await this.#send(call, { ...params, inputResponses,
        ...(requestState !== undefined && { requestState }) })
    }
    return result
  }

  async #send (call: ToolCall, params: CallParams): Promise<unknown> {
    const { name, signal, progress } = call
    if (this.#calls !== undefined) {
      return await this.#calls.request('tools/call', { ...params, ...this.#meta(true) }, call)
    }
    const inputSchema = { ...this.#withHeaders.get(name), type: 'object' as const }
    return await this.#client.callTool({ ...params, ...this.#meta(false) }, {
      signal, timeout: never_ms, allowInputRequired: true,
      // With a definition, the client neither checks the output nor repeats the call.
      toolDefinition: { name, inputSchema },
      onprogress: report => { progress(report.progress, report.total, report.message) }
    })
  }

  /** What each request says since 2026. @param whole whether the client does not add it */
  #meta (whole: boolean): { _meta?: JsonObject } {
    if (this.era === 'legacy') return {}
    return { _meta: {
      [LOG_LEVEL_META_KEY]: 'info',
      ...(whole && {
        [PROTOCOL_VERSION_META_KEY]: this.#client.getNegotiatedProtocolVersion(), [CLIENT_INFO_META_KEY]: clientInfo(),
        [CLIENT_CAPABILITIES_META_KEY]: askingCapabilities
      })
    } }
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

function clientInfo (): { name: string, version: string } {
  return { name: 'skillet', version: readVersion().version }
}

/** Answers requests of the server. An error is an answer, too: the server must not wait. */
function answerRequests (client: Client, asked: Ask): void {
  for (const method of askingMethods) {
    client.setRequestHandler(method, async ({ params }, { mcpReq: { signal } }: ClientContext) => {
      try {
        // The client checks what it sends.
        return await asked(questionOf(method, params), signal) as { action: 'cancel' } & { roots: [] }
      } catch (error) {
        throw new ProtocolError(ProtocolErrorCode.InvalidRequest, messageOf(error))
      }
    })
  }
}
