import { readFile } from 'node:fs/promises'
import { messageOf, type Logger } from '../../kernel/index.ts'
import type { ServerSpec } from '../toolkit/mcp/server-spec.ts'
import { parseToolList, writeToolList, type ToolList } from '../toolkit/mcp/tool-list.ts'
import type { Era } from './client/connection.ts'
import type { Session } from './session.ts'

/** How long a server may take to list its tools, in milliseconds. */
const list_ms = 60_000
/** The shortest value that is taken out of a message, in characters. */
const secretLengthMin = 4

interface ListingOptions {
  spec: ServerSpec
  skill: string
  /** The values that no file may hold. */
  secrets: readonly string[]
  log: Logger
}

/** Keeps the file with the tools of a server, which is asked at each start, and whenever it says that they changed. */
export class Listing {
  readonly #options: ListingOptions
  readonly #closed = new AbortController()
  #work: Promise<void> = Promise.resolve()
  /** The session whose tools are to be read next. */
  #next: Session | undefined

  constructor (options: ListingOptions) {
    this.#options = options
  }

  /** Resolves when what was begun is done. */
  get done (): Promise<void> {
    return this.#work
  }

  /** The protocol that the server spoke last. */
  async era (): Promise<Era | undefined> {
    return (await this.#read())?.listed?.era
  }

  /** Reads the tools again. Calls during a reading lead to one more reading. Never rejects. */
  refresh (session: Session): void {
    const isWaiting = this.#next !== undefined
    this.#next = session
    if (!isWaiting) this.#then(() => this.#list())
  }

  /** Keeps why the server can't be used, beside the tools that it had. */
  failed (fault: string): void {
    this.#then(async () => {
      const { listed } = await this.#read() ?? {}
      await this.#write({ ...(listed !== undefined && { listed }), fault: this.#redacted(fault) })
    })
  }

  async close (): Promise<void> {
    this.#closed.abort(new Error('the executor is stopping'))
    await this.#work
  }

  #then (work: () => Promise<void>): void {
    this.#work = this.#after(this.#work, work)
  }

  async #after (before: Promise<void>, work: () => Promise<void>): Promise<void> {
    await before
    if (this.#closed.signal.aborted) return
    try {
      await work()
    } catch (error) {
      const { log, skill } = this.#options
      if (this.#closed.signal.aborted) return
      log.warn(
        {
          skill, error: this.#redacted(messageOf(error))
        }, 'the tools of an MCP server could not be read; those that it had stay'
      )
    }
  }

  async #list (): Promise<void> {
    const session = this.#next
    this.#next = undefined
    if (session === undefined) return
    const { connection } = session
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(list_ms)])
    try {
      const { tools, of } = await connection.listTools(signal)
      const { server, instructions, era } = connection
      await this.#write({
        listed: {
          tools, era, ...(of !== undefined && { of }), ...(server !== undefined && { server }),
          ...(instructions !== undefined && { instructions })
        }
      })
    } catch (error) {
      if (!this.#closed.signal.aborted) this.failed(`it did not list its tools: ${messageOf(error)}`)
      throw error
    }
  }

  async #read (): Promise<ToolList | undefined> {
    const { list_file, way } = this.#options.spec
    const text = await readFile(list_file, 'utf8').catch(() => undefined)
    return text === undefined ? undefined : parseToolList(text, way)
  }

  async #write (list: Omit<ToolList, 'way'>): Promise<void> {
    const { list_file, way } = this.#options.spec
    await writeToolList(list_file, { way, ...list })
  }

  #redacted (text: string): string {
    let redacted = text
    for (const secret of this.#options.secrets) {
      if (secret.length >= secretLengthMin) redacted = redacted.replaceAll(secret, '[secret]')
    }
    return redacted
  }
}
