import { McpServer } from '@modelcontextprotocol/server'
import type { Config, Gateway, Logger } from '../../kernel/index.ts'
import { createStates } from './asking.ts'
import { DirectTools } from './direct.ts'
import { addCompletions, addPrompts, useSkill } from './prompts.ts'
import { Reports } from './reports.ts'
import { addResources } from './resources.ts'
import { GatewaySkills } from './skill-source.ts'
import { Subscriptions } from './subscriptions.ts'
import { addTools } from './tools.ts'

/** What a model is told of the server when it connects. */
const instructions = 'Skillet runs tools of installed skills on this machine. Find a tool with search_skills, run it with execute; list_skills shows all there is.'

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
  /** Called when skills came, changed or went, after all `tracked` servers were told; with the addresses of their instructions. */
  onSkills: ((changed: readonly string[]) => void) | undefined
  readonly #servers = new Map<McpServer, Subscriptions>()
  readonly #stop: () => void
  #running = 0

  constructor (gateway: Gateway, config: Config, log: Logger) {
    this.gateway = gateway
    this.log = log
    this.direct = new DirectTools(gateway, config.mcp.expose, gateway.operations.flatMap(({ agent }) => agent === undefined ? [] : [agent.name]))
    this.prompts = new DirectTools(gateway, config.mcp.prompts, [useSkill.name])
    this.resources = config.mcp.resources
    this.reports = new Reports(gateway.bus)
    this.skills = new GatewaySkills(gateway, log)
    this.#stop = gateway.bus.on('skills', ({ added, changed, removed }) => {
      const instructions = [...added, ...changed, ...removed].map(name => `skill://${name}/SKILL.md`)
      this.direct.forget()
      this.prompts.forget()
      this.skills.forget()
      for (const [server, subscriptions] of this.#servers) tellOfSkills(server, instructions, subscriptions, this.direct.any)
      this.onSkills?.(instructions)
    })
  }

  get running (): number {
    return this.#running
  }

  /**
   * A server for one connection, or for one request.
   * @param options `tracked`: it lives long, and is told when the skills change; `running` is told when a call begins and ends
   */
  createServer ({ tracked, running }: { tracked: boolean, running?: (change: 1 | -1) => void }): McpServer {
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
    addResources(server, this)
    this.skills.extension.attach(server)
    const subscriptions = new Subscriptions(server)
    addPrompts(server, this)
    addCompletions(server, this)
    if (tracked) {
      this.#servers.set(server, subscriptions)
      server.server.onclose = () => { this.#servers.delete(server) }
    }
    return server
  }

  close (): void {
    this.#stop()
    this.reports.close()
  }
}

/** Since this revision the SDK passes on only what a client's streams ask for; before, the server has to. */
const streamsSince = '2026-07-28'

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
