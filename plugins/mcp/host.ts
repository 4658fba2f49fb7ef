import { McpServer } from '@modelcontextprotocol/server'
import { SkilletError, type Access, type Config, type Events, type Gateway, type Logger } from '../../kernel/index.ts'
import { createStates } from './asking.ts'
import { Connections } from './connections.ts'
import { DirectTools } from './direct.ts'
import { addCompletions, addPrompts, useSkill } from './prompts.ts'
import { Reports } from './reports.ts'
import { addResources } from './resources.ts'
import { GatewaySkills } from './skill-source.ts'
import { Subscriptions } from './subscriptions.ts'
import { addTools } from './tools.ts'

/** What a model is told of the server when it connects. */
const instructions = 'Skillet runs tools of installed skills on this machine. Find a tool with search_skills, run it with execute; list_skills shows all there is.'

export interface ServerOptions {
  /** The rights of who connects. */
  access: Access | undefined
  /** Whether it lives long: it is told when the skills change, and closed when its key is revoked. */
  tracked: boolean
  /** Told when a call begins and ends. */
  running?: (change: 1 | -1) => void
}

/** What all connections of a process share: the gateway, and what they are told of running tools. */
export class Host {
  readonly gateway: Gateway
  readonly log: Logger
  /** Tools shown as tools of their own. */
  readonly direct: DirectTools
  /** Tools shown as prompts. */
  readonly prompts: DirectTools
  /** Tools shown as resources, `skill:tool` by address. */
  readonly resources: Config['mcp']['resources']
  readonly states = createStates()
  readonly reports: Reports
  readonly skills: GatewaySkills
  /** Called when the last running call has ended. */
  onIdle: (() => void) | undefined
  /** By rights; those of a key that is revoked are gone. */
  readonly #connections = new Map<Access | undefined, Connections>()
  readonly #stop: () => void
  #running = 0
  #telling = Promise.resolve()

  constructor (gateway: Gateway, config: Config, log: Logger) {
    this.gateway = gateway
    this.log = log
    this.direct = new DirectTools(gateway, config.mcp.expose, gateway.operations.flatMap(({ agent }) => agent === undefined ? [] : [agent.name]))
    this.prompts = new DirectTools(gateway, config.mcp.prompts, [useSkill.name])
    this.resources = config.mcp.resources
    this.reports = new Reports(gateway.bus)
    this.skills = new GatewaySkills(gateway, log)
    this.#stop = gateway.bus.on('skills', changes => {
      this.direct.forget()
      this.prompts.forget()
      this.skills.forget()
      this.#telling = this.#tell(changes, this.#telling)
    })
  }

  get running (): number {
    return this.#running
  }

  /** What is open with these rights. @throws SkilletError UNAUTHORIZED when their key was revoked */
  of (access: Access | undefined): Connections {
    if (access?.revoked?.aborted === true) throw new SkilletError('UNAUTHORIZED', 'The API key is not valid any more')
    const known = this.#connections.get(access)
    if (known !== undefined) return known
    const connections = new Connections(this.gateway, access)
    this.#connections.set(access, connections)
    access?.revoked?.addEventListener('abort', () => {
      this.#connections.delete(access)
      void connections.end()
    }, { once: true })
    return connections
  }

  /** A server for one connection, or for one request. @throws SkilletError UNAUTHORIZED when its key was revoked */
  createServer ({ access, tracked, running }: ServerOptions): McpServer {
    const { version } = this.gateway.version
    const server = new McpServer({ name: 'skillet', title: 'Skillet', version }, {
      capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true }, completions: {}, logging: {} },
      instructions,
      requestState: { verify: (state, ctx) => this.states.verify(state, ctx) }
    })
    addTools(server, this, change => {
      running?.(change)
      this.#running += change
      // What was answered is on its way when the handlers of this turn have run.
      if (this.#running === 0) setImmediate(() => { if (this.#running === 0) this.onIdle?.() })
    })
    addResources(server, this, access)
    this.skills.extension.attach(server)
    const subscriptions = new Subscriptions(server, this.gateway)
    addPrompts(server, this)
    addCompletions(server, this)
    if (tracked) this.of(access).add(server, subscriptions)
    return server
  }

  /** Closes all connections; calls that still run are cancelled. */
  async end (): Promise<void> {
    await Promise.all([...this.#connections.values()].map(connections => connections.end()))
  }

  close (): void {
    this.#stop()
    this.reports.close()
  }

  /** Tells all connections, each set of rights in a turn of its own: what these may see is looked up in a list of all skills. */
  async #tell (changes: Events['skills'], before: Promise<void>): Promise<void> {
    await before
    for (const connections of this.#connections.values()) {
      await connections.tell(changes, this.direct.any)
      await new Promise(resolve => { setImmediate(resolve) })
    }
  }
}
