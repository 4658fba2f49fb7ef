import type { McpServer } from '@modelcontextprotocol/server'
import { listSkills, type Access, type Events, type Gateway } from '../../../kernel/index.ts'
import { instructionsUri, type Subscriptions } from './subscriptions.ts'

/** Since this revision the SDK passes on only what a client's streams ask for; before, the server has to. */
const streamsSince = '2026-07-28'

/**
 * All that is open with one set of rights: those of a key, or of callers who need none. It hears of skills that these
 * may see, and of no others.
 */
export class Connections {
  readonly access: Access | undefined
  /** Called after its servers were told of skills, with the addresses of their instructions. */
  onSkills: ((changed: readonly string[]) => void) | undefined
  /** Called when it ends. */
  onEnd: (() => Promise<void>) | undefined
  readonly #gateway: Gateway
  readonly #servers = new Map<McpServer, Subscriptions>()
  /** Skills it may see, as of the last change; undefined where it sees all. */
  #seen: Promise<ReadonlySet<string>> | undefined

  constructor (gateway: Gateway, access: Access | undefined) {
    this.#gateway = gateway
    this.access = access
    if (access !== undefined && !(access.allows === undefined && access.scopes.has('read'))) this.#seen = this.#visible()
  }

  /** Takes a server that lives long, until it closes. */
  add (server: McpServer, subscriptions: Subscriptions): void {
    this.#servers.set(server, subscriptions)
    server.server.onclose = () => { this.#servers.delete(server) }
  }

  /** Tells of skills that came, changed or went. @param tools whether the list of tools changes with the skills */
  async tell (changes: Events['skills'], tools: boolean): Promise<void> {
    const instructions = (await this.#namesIn(changes)).map(instructionsUri)
    if (instructions.length === 0) return
    for (const [server, subscriptions] of this.#servers) tellOfSkills(server, instructions, subscriptions, tools)
    this.onSkills?.(instructions)
  }

  /** Closes all that is open; calls that still run are cancelled. */
  async end (): Promise<void> {
    await Promise.allSettled([...[...this.#servers.keys()].map(server => server.close()), this.onEnd?.()])
  }

  /** The names of a change that it may hear of: of skills that it sees, or saw until now. */
  async #namesIn ({ added, changed, removed }: Events['skills']): Promise<string[]> {
    if (this.#seen === undefined) return [...added, ...changed, ...removed]
    const before = await this.#seen
    const after = await (this.#seen = this.#visible())
    return [...[...after].filter(name => !before.has(name)), ...changed.filter(name => before.has(name) && after.has(name)), ...[...before].filter(name => !after.has(name))]
  }

  async #visible (): Promise<ReadonlySet<string>> {
    try {
      const { skills } = await this.#gateway.invoke(listSkills, {}, { transport: 'mcp', signal: new AbortController().signal, access: this.access })
      return new Set(skills.map(({ name }) => name))
    } catch {
      return new Set() // it may not read
    }
  }
}

function tellOfSkills (mcp: McpServer, instructions: readonly string[], followed: Subscriptions, tools: boolean): void {
  if (!mcp.isConnected()) return
  const { server } = mcp
  const filtered = (server.getNegotiatedProtocolVersion() ?? '') >= streamsSince ? instructions : instructions.filter(uri => followed.has(uri))
  const sent = [
    server.sendResourceListChanged(), server.sendPromptListChanged(), ...(tools ? [server.sendToolListChanged()] : []),
    ...filtered.map(uri => server.sendResourceUpdated({ uri }))
  ]
  for (const one of sent) one.catch(() => {}) // the client is leaving
}
