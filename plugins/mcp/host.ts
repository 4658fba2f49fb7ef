import { McpServer } from '@modelcontextprotocol/server'
import type { Config, Gateway, Logger } from '../../kernel/index.ts'
import { addCompletions, addPrompts } from './prompts.ts'
import { DirectTools } from './direct.ts'
import { Reports } from './reports.ts'
import { addResources } from './resources.ts'
import { GatewaySkills } from './skill-source.ts'
import { addTools } from './tools.ts'

/** What a model is told of the server when it connects. */
const instructions = 'Skillet runs tools of installed skills on this machine. Find a tool with search_skills, run it with execute; list_skills shows all there is.'

/** What all connections of a process share: the gateway, and what they are told of running tools. */
export class Host {
  readonly gateway: Gateway
  readonly log: Logger
  readonly direct: DirectTools
  readonly reports: Reports
  readonly skills: GatewaySkills
  /** Called when the last running call has ended. */
  onIdle: (() => void) | undefined
  /** Called when the set of skills was replaced, after all `tracked` servers were told. */
  onSkills: (() => void) | undefined
  readonly #servers = new Set<McpServer>()
  readonly #stop: () => void
  #running = 0

  constructor (gateway: Gateway, config: Config, log: Logger) {
    this.gateway = gateway
    this.log = log
    this.direct = new DirectTools(gateway, config.mcp.expose)
    this.reports = new Reports(gateway.bus)
    this.skills = new GatewaySkills(gateway, log)
    this.#stop = gateway.bus.on('skills', () => {
      this.direct.forget()
      this.skills.forget()
      for (const server of this.#servers) tellOfSkills(server, this.direct.any)
      this.onSkills?.()
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
      capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true }, completions: {}, logging: {} },
      instructions
    })
    addTools(server, this, change => {
      running?.(change)
      this.#running += change
      // What was answered is on its way when the handlers of this turn have run.
      if (this.#running === 0) setImmediate(() => { if (this.#running === 0) this.onIdle?.() })
    })
    addResources(server, this)
    this.skills.extension.attach(server)
    addPrompts(server, this)
    addCompletions(server, this)
    if (tracked) {
      this.#servers.add(server)
      server.server.onclose = () => { this.#servers.delete(server) }
    }
    return server
  }

  close (): void {
    this.#stop()
    this.reports.close()
  }
}

function tellOfSkills (server: McpServer, tools: boolean): void {
  if (!server.isConnected()) return
  const sent = [server.server.sendResourceListChanged(), server.server.sendPromptListChanged(), ...(tools ? [server.server.sendToolListChanged()] : [])]
  for (const one of sent) one.catch(() => {}) // the client is leaving
}
