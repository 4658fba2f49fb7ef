import {
  abortable, messageOf, Unanswered, type JsonObject, type Logger, type LogLevel, type Question, type SkillDefinition
} from '../../kernel/index.ts'
import type { ServerSpec } from '../toolkit/mcp/server-spec.ts'
import { Backoff } from './backoff.ts'
import type { Ask } from './client/questions.ts'
import { Listing } from './listing.ts'
import type { Confinement } from './process/confinement.ts'
import { ServerFault } from './server-fault.ts'
import { openSession, type Session } from './session.ts'

export interface ServerOptions {
  skill: SkillDefinition
  spec: ServerSpec
  secrets: Readonly<Record<string, string>>
  log: Logger
  confinement: Pick<Confinement, 'of'>
  /** Makes room for one more running server. @throws ServerFault when there is none */
  makeRoom (): Promise<void>
}

/** Hears what a server says during a call, beside its answer. */
export interface CallListener {
  log (level: LogLevel, text: string): void
  ask: Ask
  /** The server wanted to reach what its skill does not list. */
  refused (message: string): void
}

/**
 * The server of a skill, shared by all calls: started for the first one, ended when it was idle for a while, and
 * started again after it died, with growing pauses.
 */
export class Server {
  readonly #options: ServerOptions
  readonly #listing: Listing
  readonly #backoff = new Backoff()
  readonly #closing = new AbortController()
  readonly #listeners = new Set<CallListener>()
  #opening: Promise<Session> | undefined
  #session: Session | undefined
  #ends: Promise<unknown> = Promise.resolve()
  #calls = 0
  #retired = false
  #idle: NodeJS.Timeout | undefined
  /** When the last call ended (performance.now()). */
  used_ms = performance.now()

  constructor (options: ServerOptions) {
    const { spec, log, skill, secrets } = options
    this.#options = options
    this.#listing = new Listing({ spec, log, skill: skill.name, secrets: Object.values(secrets) })
  }

  /** Whether it runs, or is being started. */
  get runs (): boolean {
    return this.#opening !== undefined
  }

  get isIdle (): boolean {
    return this.#calls === 0
  }

  /**
   * The session, for one call; `release` must follow.
   * @throws ServerFault when the server can't be used; the signal's reason
   */
  async acquire (signal: AbortSignal): Promise<Session> {
    this.#calls++
    clearTimeout(this.#idle)
    if (this.#session !== undefined && this.#opening !== undefined) return this.#session
    try {
      return await abortable(this.#opening ??= this.#open(), signal)
    } catch (error) {
      this.release()
      throw error
    }
  }

  /** Ends the use of a session. */
  release (): void {
    this.used_ms = performance.now()
    if (--this.#calls > 0) return
    if (this.#retired) void this.#end()
    else if (this.#opening !== undefined) {
      clearTimeout(this.#idle)
      this.#idle = setTimeout(() => { void this.endIfIdle() }, this.#options.spec.idle_ms).unref()
    }
  }

  /** Tells that a call succeeded: the next start need not wait. */
  works (): void {
    this.#backoff.reset()
  }

  /** Hears what the server says, until the returned function is called. */
  listen (listener: CallListener): () => void {
    this.#session?.begin?.(this.#listeners.size === 0)
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Starts the server for its list of tools, and ends it when nothing else needs it. @throws ServerFault */
  async learn (signal: AbortSignal): Promise<void> {
    await this.acquire(signal)
    try {
      await abortable(this.#listing.done, signal)
    } finally {
      this.release()
    }
    await this.endIfIdle()
  }

  async endIfIdle (): Promise<void> {
    if (this.#calls === 0) await this.#end()
  }

  /** Ends the server when its last call has ended. */
  retire (): void {
    this.#retired = true
    if (this.#calls === 0) void this.#end()
  }

  /** Ends the server at once. Resolves when it and its group have ended, and its list is written. */
  async close (): Promise<void> {
    this.#retired = true
    this.#closing.abort(new Error('the executor is stopping'))
    await this.#end()
    await this.#ends
    await this.#listing.close()
  }

  #open (): Promise<Session> {
    const opening = this.#start()
    opening.catch((error: unknown) => {
      if (this.#opening === opening) this.#opening = undefined
      if (this.#closing.signal.aborted) return
      if (!(error instanceof Paused)) {
        this.#backoff.failed(messageOf(error))
        this.#listing.failed(messageOf(error))
      }
    })
    return opening
  }

  async #start (): Promise<Session> {
    const { makeRoom, log, skill, spec, secrets, confinement } = this.#options
    await this.#ends // one process at a time
    const paused = await this.#backoff.wait(this.#closing.signal)
    if (paused !== undefined) throw new Paused(paused)
    await makeRoom()
    const session = await openSession({
      skill, spec, secrets, confinement, era: await this.#listing.era(),
      listChanged: () => { if (this.#session !== undefined) this.#listing.refresh(this.#session) },
      logged: (level, text) => { this.#logged(level, text) },
      asked: (question, signal) => this.#asked(question, signal),
      refused: message => { this.#refused(message) }
    }, this.#closing.signal)
    this.#session = session
    log.debug({ skill: skill.name }, 'an MCP server was started')
    void this.#follow(session)
    this.#listing.refresh(session)
    return session
  }

  /** What a server logs belongs to no call; with a single one it is likely about that. */
  #logged (level: LogLevel, text: string): void {
    const listener = this.#only()
    if (listener !== undefined) listener.log(level, text)
    else this.#options.log.debug({ skill: this.#options.skill.name, level, text }, 'an MCP server logged something')
  }

  /** No connection names a call, so all that run are told. */
  #refused (message: string): void {
    if (this.#listeners.size === 0) this.#options.log.info({ skill: this.#options.skill.name }, message)
    for (const listener of this.#listeners) listener.refused(message)
  }

  /** In the protocol of 2025, a question names no call; with a single one it belongs to that. */
  async #asked (question: Question, signal: AbortSignal): Promise<JsonObject> {
    const listener = this.#only()
    if (listener !== undefined && question.kind !== 'roots') return await listener.ask(question, signal)
    // Servers ask for folders when they begin, too, and keep what they have when there are none.
    if (question.kind === 'roots') return await listener?.ask(question, signal).catch(() => undefined) ?? { roots: [] }
    throw new Unanswered(this.#listeners.size === 0
      ? 'nobody can be asked: no tool runs'
      : `nobody can be asked: ${this.#listeners.size} calls run at once, and the question names none of them`)
  }

  #only (): CallListener | undefined {
    if (this.#listeners.size !== 1) return undefined
    const [listener] = this.#listeners
    return listener
  }

  async #follow (session: Session): Promise<void> {
    const why = await session.ended
    if (this.#session !== session) return // it was ended here
    this.#session = this.#opening = undefined
    clearTimeout(this.#idle)
    this.#backoff.failed(why)
    this.#options.log.warn(
      { skill: this.#options.skill.name, why }, 'an MCP server ended; the next call starts it again'
    )
  }

  async #end (): Promise<void> {
    clearTimeout(this.#idle)
    const opening = this.#opening
    if (opening === undefined) return
    this.#opening = undefined
    const ended = this.#endOpened(opening)
    this.#ends = Promise.all([this.#ends, ended])
    await ended
  }

  async #endOpened (opening: Promise<Session>): Promise<void> {
    const session = await opening.catch(() => undefined) // undefined: it did not start
    if (this.#session === session) this.#session = undefined
    await session?.end()
  }
}

/** A start that must wait, since the last ones failed: no failure of its own. */
class Paused extends ServerFault {}
