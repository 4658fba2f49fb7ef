import {
  messageOf, SkilletError, type CancelSignal, type Executor, type Logger, type Outcome,
  type SecretsOf, type SkillDefinition, type Task, type TaskObserver
} from '../../kernel/index.ts'
import { Refusals } from '../toolkit/network/refusals.ts'
import { toolTargetOf } from '../toolkit/mcp/server-spec.ts'
import { asker } from './asker.ts'
import type { Ask } from './client/questions.ts'
import { Ending } from './ending.ts'
import { Follow } from './follow.ts'
import { lostIn, noOutput, refused } from './failures.ts'
import { outcomeOf } from './output.ts'
import { Places } from './places.ts'
import type { Confinement } from './process/confinement.ts'
import type { Server } from './server.ts'
import { Servers } from './servers.ts'
import type { Session } from './session.ts'

interface McpExecutorOptions {
  /** The number of calls that run at once, and of servers that are kept. */
  calls: number
  servers: number
  outputBytesMax: number
  confinement: Confinement
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
    const { log, confinement } = options
    this.#options = options
    this.#servers = new Servers({ max: options.servers, confinement, log })
    this.#places = new Places(options.calls)
    this.#follow = new Follow({ servers: this.#servers, log })
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closing) {
      throw new SkilletError('OVERLOADED', 'The executor is stopping and takes no new runs')
    }
    if (signal.aborted) return { status: 'cancelled', ...noOutput }
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
    await this.#options.confinement.close()
  }

  async #runOn (server: Server, task: Task, observer: TaskObserver, ending: Ending): Promise<Outcome> {
    let session
    try {
      session = await server.acquire(ending.signal)
    } catch (error) {
      if (ending.why !== undefined) return { status: ending.why, ...noOutput }
      return refused(`the MCP server of ${task.skill.name} can't be used: ${messageOf(error)}`)
    }
    const ask = asker(task, observer, ending)
    const refusals = new Refusals(`${task.skill.name}:${task.tool.name}`, observer, this.#options.log)
    const silence = server.listen({
      log: (level, text) => { observer.log(level, text) }, ask, refused: message => { refusals.add(message) }
    })
    try {
      const outcome = await this.#call(session, task, observer, ending, ask)
      if (outcome.status === 'success') server.works()
      return refusals.explain(outcome)
    } finally {
      silence()
      server.release()
    }
  }

  async #call (
    session: Session, task: Task, observer: TaskObserver, ending: Ending, ask: Ask
  ): Promise<Outcome> {
    const { skill, tool, parameters, timeout_ms } = task
    observer.started(session.isolation)
    ending.limit(timeout_ms)
    try {
      const result = await session.connection.call({
        name: toolTargetOf(tool).name, parameters, signal: ending.signal,
        progress: (done, total, message) => { observer.progress(done, total, message) }, ask
      })
      return outcomeOf(result, `${skill.name}:${tool.name}`, this.#options.outputBytesMax)
    } catch (error) {
      if (ending.why !== undefined) return { status: ending.why, ...noOutput }
      return await lostIn(session, `${skill.name}:${tool.name}`, error)
    }
  }
}
