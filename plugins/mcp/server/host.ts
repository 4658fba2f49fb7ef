import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server'
import {
  compileAllows, Selections, SkilletError, type Access, type Config, type Events, type Gateway, type Logger
} from '../../../kernel/index.ts'
import type { AgentTool, RunningTool } from '../agent/agent-tool.ts'
import { executeForAgents, queryForAgents } from '../agent/execute.ts'
import { listSkillsForAgents } from '../agent/list-skills.ts'
import { searchSkillsForAgents } from '../agent/search-skills.ts'
import { createStates } from './asking.ts'
import { Connections } from './connections.ts'
import { Conversations } from './conversations.ts'
import { mcpSection, type McpSettings } from '../settings.ts'
import { Tasks } from '../tasks/tasks.ts'
import type { DirectTool } from './direct-tool.ts'
import { DirectTools } from './direct.ts'
import { Reports } from './reports.ts'
import { GatewaySkills } from './skill-source.ts'
import { useSkill } from './use-skill.ts'

const day_ms = 86_400_000

/** The objects that all connections of a process share: the gateway, and the reports of running tools. */
export class Host {
  readonly gateway: Gateway
  readonly log: Logger
  /** The tools for agents, with which an agent can use all skills. */
  readonly tools: readonly AgentTool[]
  /** Those of them that run tools of skills. */
  readonly runningTools: readonly RunningTool[]
  /** Skills' tools that are shown as MCP tools of their own. */
  readonly direct: DirectTools
  /** Tools shown as prompts. */
  readonly prompts: DirectTools
  /** Tools shown as resources: `skill:tool` by address. */
  readonly resources: McpSettings['resources']
  readonly states = createStates()
  readonly reports: Reports
  /** Calls that wait for answers of their clients. */
  readonly conversations = new Conversations<CallToolResult | InputRequiredResult>()
  readonly skills: GatewaySkills
  /** What this process knows of runs that are tasks of clients. */
  readonly tasks = new Tasks()
  /** How long a call runs before it becomes a task, and how long the history keeps tasks, in milliseconds. */
  readonly taskTimes: { readonly after_ms: number, readonly kept_ms: number }
  readonly #isTaskOnly: ReturnType<typeof compileAllows>
  /** Called when the last running call has ended. */
  onIdle: (() => void) | undefined
  /** Connections by rights; the connections of a revoked key are removed. */
  readonly #connections = new Map<Access | undefined, Connections>()
  readonly selections = new Selections()
  readonly #stop: () => void
  #running = 0
  #telling = Promise.resolve()

  constructor (gateway: Gateway, config: Config, log: Logger) {
    const { expose, names, prompts, resources, task_only, task_after_ms } = mcpSection.of(config)
    this.gateway = gateway
    this.log = log
    this.runningTools = [executeForAgents(this.selections), queryForAgents(this.selections)]
    this.tools = [listSkillsForAgents, ...this.runningTools, searchSkillsForAgents]
    this.direct = new DirectTools(gateway, expose, this.tools.map(({ name }) => name), names)
    this.#isTaskOnly = compileAllows(task_only)
    this.taskTimes = { after_ms: task_after_ms, kept_ms: config.storage.history_days_max * day_ms }
    this.prompts = new DirectTools(gateway, prompts, [useSkill.name])
    this.resources = resources
    this.reports = new Reports(gateway.bus)
    this.skills = new GatewaySkills(gateway, log)
    this.#stop = gateway.bus.on('skills', changes => {
      this.direct.forget()
      this.prompts.forget()
      this.skills.forget()
      this.#telling = this.#tell(changes, this.#telling)
    })
  }

  /** Whether a tool may only run as a task. */
  isTaskOnly ({ skill_name, tool_name }: DirectTool): boolean {
    return this.#isTaskOnly?.(skill_name, tool_name) === true
  }

  get running (): number {
    return this.#running
  }

  /** Counts the beginning (1) or the end (-1) of a call. */
  count (change: 1 | -1): void {
    this.#running += change
    // The answers are being sent when the handlers of this turn of the event loop have run.
    if (this.#running === 0) setImmediate(() => { if (this.#running === 0) this.onIdle?.() })
  }

  /**
   * The connections with these rights.
   * @throws SkilletError UNAUTHORIZED when their key was revoked
   */
  of (access: Access | undefined): Connections {
    if (access?.revoked?.aborted === true) throw new SkilletError('UNAUTHORIZED', 'The API key is not valid any more')
    const existing = this.#connections.get(access)
    if (existing !== undefined) return existing
    const connections = new Connections(this.gateway, access)
    this.#connections.set(access, connections)
    access?.revoked?.addEventListener('abort', () => {
      this.#connections.delete(access)
      void connections.end()
    }, { once: true })
    return connections
  }

  /** Closes all connections; calls that still run are cancelled. */
  async end (): Promise<void> {
    await Promise.all([...this.#connections.values()].map(connections => connections.end()))
  }

  /** Resolves when the processes for selections have ended. */
  async close (): Promise<void> {
    this.#stop()
    this.reports.close()
    this.conversations.close()
    await this.selections.close()
  }

  /**
   * Notifies all connections, each set of rights in a separate turn of the event loop: the skills that the rights allow
   * are selected from a list of all skills.
   */
  async #tell (changes: Events['skills'], before: Promise<void>): Promise<void> {
    await before
    for (const connections of this.#connections.values()) {
      await connections.tell(changes, this.direct.any)
      await new Promise(resolve => { setImmediate(resolve) })
    }
  }
}
