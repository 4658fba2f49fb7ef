import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import type { ProxyLimits } from './limits.ts'
import type { NetworkList } from './network-list.ts'
import { ProxyError } from './proxy-error.ts'

/** The user's name in the address of the proxy. */
const user = 'run'
const secretBytes = 32

export interface PassOptions {
  /** Which listening sockets it is for: those that were opened with the same room. */
  room: string
  /** What the skill is called, for messages. */
  name: string
  list: NetworkList
  /** Told, once for each, what was refused. */
  refused (message: string): void
}

/** What one run may do with the proxy: its token, its list, and its connections, which end with it. */
export class Pass {
  readonly room: string
  readonly name: string
  readonly list: NetworkList
  /** Keeps connections to servers of `http:` URLs; made when there is such a request. */
  agent: Agent | undefined
  readonly #limits: ProxyLimits
  readonly #refused: (message: string) => void
  readonly #id: string
  readonly #secret = randomBytes(secretBytes).toString('base64url')
  readonly #clients = new Set<Socket>()
  readonly #servers = new Set<Socket>()
  readonly #told = new Set<string>()
  #ended = false
  readonly #forget: () => void

  /** @param forget called at its end */
  constructor (id: number, { room, name, list, refused }: PassOptions, limits: ProxyLimits, forget: () => void) {
    this.#id = id.toString(36)
    this.room = room
    this.name = name
    this.list = list
    this.#refused = refused
    this.#limits = limits
    this.#forget = forget
  }

  /** The variables by which programs find the proxy. No host is exempt from it: nothing can be reached without it. */
  variables (port: number): Record<string, string> {
    const url = `http://${user}:${this.#id}.${this.#secret}@127.0.0.1:${port}`
    return {
      HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, http_proxy: url, https_proxy: url, all_proxy: url,
      NO_PROXY: '', no_proxy: '', NODE_USE_ENV_PROXY: '1'
    }
  }

  /** Whether this is its secret. Takes as long for every text of the same length. */
  isSecret (text: string): boolean {
    const [given, own] = [Buffer.from(text), Buffer.from(this.#secret)]
    return given.length === own.length && timingSafeEqual(given, own)
  }

  /** Takes a connection of the command into its account. @throws ProxyError when it has too many, or has ended */
  holdClient (socket: Socket): void {
    this.#hold(socket, this.#clients)
  }

  /** Takes a connection to a server into its account. @throws ProxyError when it has too many, or has ended */
  holdServer (socket: Socket): void {
    this.#hold(socket, this.#servers)
  }

  /** Tells the user of a refusal, unless it was told, or too many were. */
  tell (message: string): void {
    if (this.#told.has(message) || this.#told.size >= this.#limits.refusals_max) return
    this.#told.add(message)
    this.#refused(message)
  }

  /** From now on, what was told is told again. */
  tellAnew (): void {
    this.#told.clear()
  }

  /** Ends its connections. Its token is worth nothing from now on. */
  end (): void {
    if (this.#ended) return
    this.#ended = true
    this.#forget()
    this.agent?.destroy()
    for (const socket of [...this.#clients, ...this.#servers]) socket.destroy()
  }

  #hold (socket: Socket, held: Set<Socket>): void {
    if (this.#ended) throw new ProxyError(407, 'the run has ended')
    if (held.has(socket)) return
    if (held.size >= this.#limits.run_connections_max) {
      throw new ProxyError(503, `${this.name} has ${held.size} connections, and may not have more at once`)
    }
    held.add(socket)
    socket.once('close', () => { held.delete(socket) })
  }
}

/** The passes of the runs that have not ended. */
export class Passes {
  readonly #limits: ProxyLimits
  readonly #all = new Map<string, Pass>()
  #lastId = 0

  constructor (limits: ProxyLimits) {
    this.#limits = limits
  }

  add (options: PassOptions): Pass {
    const id = ++this.#lastId
    const key = id.toString(36)
    const pass = new Pass(id, options, this.#limits, () => { this.#all.delete(key) })
    this.#all.set(key, pass)
    return pass
  }

  /** The pass that a header names, if it holds in this room. @param header the value of `Proxy-Authorization` */
  of (header: string | undefined, room: string): Pass | undefined {
    const [, encoded = ''] = /^basic ([a-z\d+/=_-]{1,512})$/i.exec(header ?? '') ?? []
    const [, id = '', secret = ''] = /^run:([a-z\d]+)\.(.*)$/.exec(Buffer.from(encoded, 'base64').toString()) ?? []
    const pass = this.#all.get(id)
    return pass?.isSecret(secret) === true && pass.room === room ? pass : undefined
  }

  end (): void {
    for (const pass of this.#all.values()) pass.end()
  }
}
