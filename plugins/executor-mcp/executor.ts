import {
  messageOf, SkilletError, type CancelSignal, type Config, type Executor, type Logger, type Outcome,
  type SecretsOf, type SkillDefinition, type Task, type TaskObserver
} from '../../kernel/index.ts'
import { toolTargetOf } from '../toolkit/mcp/server-spec.ts'
import { sandboxDemand } from '../toolkit/sandbox-demand.ts'
import { Ending } from './ending.ts'
import { Follow } from './follow.ts'
import { lostIn, noOutput, refused } from './failures.ts'
import { outcomeOf } from './output.ts'
import { Places } from './places.ts'
import type { Server } from './server.ts'
import { Servers } from './servers.ts'
import type { Session } from './session.ts'

interface McpExecutorOptions {
  /** The number of calls that run at once, and of servers that are kept. */
  calls: number
  servers: number
  outputBytesMax: number
  isolation: Config['isolation']
  log: Logger
}

/** Runs tools of MCP servers: each call goes to the one server of its skill, once. */
export class McpExecutor implements Executor {
  readonly runtime = 'mcp'
  readonly #options: McpExecutorOptions
  readonly #servers: Servers
  readonly #places: Places
  readonly #follow: Follow
  readonly #active = new Set<Ending>()
  #closing = false

  constructor (options: McpExecutorOptions) {
    const { log, isolation } = options
    this.#options = options
    this.#servers = new Servers(options.servers, log)
    this.#places = new Places(options.calls)
    this.#follow = new Follow(
      { servers: this.#servers, log, mayRun: skill => sandboxDemand(skill, isolation) === undefined }
    )
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closing) {
      throw new SkilletError('OVERLOADED', 'The executor is stopping and takes no new runs')
    }
    if (signal.aborted) return { status: 'cancelled', ...noOutput }
    const demand = sandboxDemand(task.skill, this.#options.isolation)
    if (demand !== undefined) {
      return refused(`MCP servers can't be confined yet, and ${demand} forbids to run this one without a sandbox; trust the skill, or change the setting`)
    }
    const ending = new Ending(signal)
    this.#active.add(ending)
    const leave = await this.#places.enter(ending.signal)
    try {
      if (leave === undefined) return { status: 'cancelled', ...noOutput }
      return await this.#runOn(this.#servers.of(task.skill, task.secrets), task, observer, ending)
    } finally {
      leave?.()
      ending.close()
      this.#active.delete(ending)
    }
  }

  /** The servers themselves do not count: one that does not answer fails its own calls only. */
  async probe (): Promise<void> {
    if (this.#closing) throw new Error('the executor is stopping')
  }

  follow (skills: readonly SkillDefinition[], secretsOf: SecretsOf): void {
    if (!this.#closing) this.#follow.update(skills, secretsOf)
  }

  /** Cancels all calls and ends all servers. */
  async close (): Promise<void> {
    this.#closing = true
    for (const ending of this.#active) ending.end('cancelled')
    this.#follow.close()
    await this.#servers.close()
  }

  async #runOn (server: Server, task: Task, observer: TaskObserver, ending: Ending): Promise<Outcome> {
    let session
    try {
      session = await server.acquire(ending.signal)
    } catch (error) {
      if (ending.why !== undefined) return { status: ending.why, ...noOutput }
      return refused(`the MCP server of ${task.skill.name} can't be used: ${messageOf(error)}`)
    }
    const silence = server.onLog((level, text) => { observer.log(level, text) })
    try {
      const outcome = await this.#call(session, task, observer, ending)
      if (outcome.status === 'success') server.works()
      return outcome
    } finally {
      silence()
      server.release()
    }
  }

  async #call (session: Session, task: Task, observer: TaskObserver, ending: Ending): Promise<Outcome> {
    const { skill, tool, parameters, timeout_ms } = task
    observer.started(session.isolation)
    ending.limit(timeout_ms)
    try {
      const result = await session.connection.call({
        name: toolTargetOf(tool).name, parameters, signal: ending.signal,
        progress: (done, total, message) => { observer.progress(done, total, message) }
      })
      return outcomeOf(result, `${skill.name}:${tool.name}`, this.#options.outputBytesMax)
    } catch (error) {
      if (ending.why !== undefined) return { status: ending.why, ...noOutput }
      return await lostIn(session, `${skill.name}:${tool.name}`, error)
    }
  }
}
