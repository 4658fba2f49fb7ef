import type { McpServer } from '@modelcontextprotocol/server'
import { listSkills, type Access, type Events, type Gateway } from '../../../kernel/index.ts'
import { instructionsUri, type Subscriptions } from './subscriptions.ts'

/**
 * From this revision on, the SDK sends only the notifications that a client's streams subscribed to; for older
 * revisions, the server must select them.
 */
const streamsSince = '2026-07-28'

/**
 * All open connections with one set of rights: those of a key, or of callers who need no key. They are notified only of
 * skills that these rights may see.
 */
export class Connections {
  readonly access: Access | undefined
  /** Called after the servers were notified of changed skills, with the URIs of the skills' instructions. */
  onSkills: ((changed: readonly string[]) => void) | undefined
  /** Called when the connections end. */
  onEnd: (() => Promise<void>) | undefined
  readonly #gateway: Gateway
  readonly #servers = new Map<McpServer, Subscriptions>()
  /**
   * The names of the skills that these rights may see, as of the last change; undefined when they may see all skills.
   */
  #seen: Promise<ReadonlySet<string>> | undefined

  constructor (gateway: Gateway, access: Access | undefined) {
    this.#gateway = gateway
    this.access = access
    if (access !== undefined && !(access.allows === undefined && access.scopes.has('read'))) {
      this.#seen = this.#visible()
    }
  }

  /** Adds a long-lived server, which is removed when it closes. */
  add (server: McpServer, subscriptions: Subscriptions): void {
    this.#servers.set(server, subscriptions)
    server.server.onclose = () => { this.#servers.delete(server) }
  }

  /**
   * Notifies clients of skills that were added, changed or removed.
   * @param tools whether the list of tools changes with the skills
   */
  async tell (changes: Events['skills'], tools: boolean): Promise<void> {
    const instructions = (await this.#namesIn(changes)).map(instructionsUri)
    if (instructions.length === 0) return
    for (const [server, subscriptions] of this.#servers) tellOfSkills(server, instructions, subscriptions, tools)
    this.onSkills?.(instructions)
  }

  /** Closes all connections; calls that still run are cancelled. */
  async end (): Promise<void> {
    await Promise.allSettled([...[...this.#servers.keys()].map(server => server.close()), this.onEnd?.()])
  }

  /** The names in a change that the clients may learn of: skills that they may see, or could see until now. */
  async #namesIn ({ added, changed, removed }: Events['skills']): Promise<string[]> {
    if (this.#seen === undefined) return [...added, ...changed, ...removed]
    const before = await this.#seen
    const after = await (this.#seen = this.#visible())
    return [
      ...[...after].filter(name => !before.has(name)),
      ...changed.filter(name => before.has(name) && after.has(name)),
      ...[...before].filter(name => !after.has(name))
    ]
  }

  async #visible (): Promise<ReadonlySet<string>> {
    try {
      const { skills } = await this.#gateway.invoke(
        listSkills, {}, { transport: 'mcp', signal: new AbortController().signal, access: this.access }
      )
      return new Set(skills.map(({ name }) => name))
    } catch {
      return new Set() // the rights do not allow reading skills
    }
  }
}

function tellOfSkills (mcp: McpServer, instructions: readonly string[], followed: Subscriptions, tools: boolean): void {
  if (!mcp.isConnected()) return
  const { server } = mcp
  const filtered = (server.getNegotiatedProtocolVersion() ?? '') >= streamsSince
    ? instructions
    : instructions.filter(uri => followed.has(uri))
  const sent = [
    server.sendResourceListChanged(), server.sendPromptListChanged(), ...(tools ? [server.sendToolListChanged()] : []),
    ...filtered.map(uri => server.sendResourceUpdated({ uri }))
  ]
  for (const notification of sent) notification.catch(() => {}) // the client is leaving
}
