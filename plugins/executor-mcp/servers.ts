import type { Logger, SkillDefinition } from '../../kernel/index.ts'
import { serverOf } from '../toolkit/mcp/server-spec.ts'
import type { Confinement } from './process/confinement.ts'
import { Server } from './server.ts'
import { ServerFault } from './server-fault.ts'

type Secrets = Readonly<Record<string, string>>

/** A server, the text of what it was made of, and the definition and secrets of the last call. */
interface Kept { server: Server, key: string, skill: SkillDefinition, secrets: Secrets }

export interface ServersOptions {
  /** How many may run at once. */
  max: number
  confinement: Pick<Confinement, 'of'>
  log: Logger
}

/** The servers of all skills, of which a limited number runs. */
export class Servers {
  readonly #options: ServersOptions
  readonly #servers = new Map<string, Kept>()
  /** Servers of definitions that changed, until their last call has ended. */
  readonly #retired = new Set<Server>()

  constructor (options: ServersOptions) {
    this.#options = options
  }

  /** The server of a skill, with these secrets. When one of both changed, the server before ends after its calls. */
  of (skill: SkillDefinition, secrets: Secrets = {}): Server {
    const last = this.#servers.get(skill.name)
    if (last?.skill === skill && isSame(last.secrets, secrets)) return last.server
    const spec = serverOf(skill)
    const key = JSON.stringify([spec, skill.trusted, skill.permissions, secrets])
    if (last?.key === key) {
      this.#servers.set(skill.name, { ...last, skill, secrets })
      return last.server
    }
    this.#retire(skill.name)
    const { log, confinement } = this.#options
    const server = new Server({ skill, spec, secrets, log, confinement, makeRoom: () => this.#makeRoom() })
    this.#servers.set(skill.name, { server, key, skill, secrets })
    return server
  }

  /** Ends the servers of all other skills after their calls. */
  keep (names: ReadonlySet<string>): void {
    for (const name of this.#servers.keys()) if (!names.has(name)) this.#retire(name)
  }

  async close (): Promise<void> {
    const all = [...this.#retired, ...[...this.#servers.values()].map(({ server }) => server)]
    await Promise.all(all.map(server => server.close()))
  }

  #retire (name: string): void {
    const kept = this.#servers.get(name)
    if (kept === undefined) return
    this.#servers.delete(name)
    this.#forget()
    this.#retired.add(kept.server)
    kept.server.retire()
  }

  #forget (): void {
    for (const server of this.#retired) if (!server.runs && server.isIdle) this.#retired.delete(server)
  }

  /** The server that asks counts as running already. */
  async #makeRoom (): Promise<void> {
    const running = [
      ...this.#retired, ...[...this.#servers.values()].map(({ server }) => server)
    ].filter(({ runs }) => runs)
    const { max } = this.#options
    if (running.length <= max) return
    const [oldest] = running.filter(({ isIdle }) => isIdle).sort((a, b) => a.used_ms - b.used_ms)
    if (oldest === undefined) {
      throw new ServerFault(`${max} MCP servers run already, and none is idle; [plugin.executor-mcp] servers sets the limit`)
    }
    await oldest.endIfIdle()
  }
}

function isSame (a: Secrets, b: Secrets): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every(name => a[name] === b[name])
}
