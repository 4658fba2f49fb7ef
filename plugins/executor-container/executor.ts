import { randomUUID } from 'node:crypto'
import {
  Canceller, SkilletError, within, type CancelSignal, type Config, type Executor, type JsonObject, type Outcome,
  type Task, type TaskObserver, type ToolDefinition
} from '../../kernel/index.ts'
import { containerOf, type ContainerSpec } from '../toolkit/container/spec.ts'
import { expandCommand, type Command } from '../toolkit/expand-command.ts'
import { demandOf } from '../toolkit/sandbox-demand.ts'
import { limitsOf } from '../toolkit/sandbox/limits.ts'
import type { RuleBook } from '../toolkit/sandbox/rules.ts'
import { CommandTasks } from './command-tasks.ts'
import { EngineFault } from './engine-fault.ts'
import type { Engine, EngineFinder } from './engine.ts'
import type { Leftovers } from './leftovers.ts'
import { mountsOf, type Mount } from './mounts.ts'
import { explain, failed } from './outcome.ts'
import type { Remover } from './remover.ts'
import { runVector } from './vector.ts'

/** How long the outcome of a run that was ended waits for its container to be removed, in milliseconds. */
const removal_ms = 5_000

/** How long the close waits for runs to end, in milliseconds. */
const close_ms = 8_000

interface Options {
  finder: EngineFinder
  remover: Remover
  leftovers: Leftovers
  /** Makes what knows which files are secret; called when the first container needs a mount. */
  createBook (): RuleBook
  /** The user's further options of the engine's command `run`. */
  runOptions: readonly string[]
  isolation: Config['isolation']
}

/**
 * Runs tools in containers. The engine's program is a command of the executor of commands, which bounds its output and
 * its time; ending it ends nothing in the container, so the container is removed by its name.
 */
export class ContainerExecutor implements Executor {
  readonly runtime = 'container'
  readonly #options: Options
  readonly #tasks = new CommandTasks()
  readonly #active = new Set<{ stop: Canceller, done: Promise<unknown> }>()
  #executors: ReadonlyMap<string, Executor> = new Map()
  #book: RuleBook | undefined
  #closing = false

  constructor (options: Options) {
    this.#options = options
  }

  connect (executors: ReadonlyMap<string, Executor>): void {
    this.#executors = executors
  }

  check (tool: ToolDefinition, parameters: JsonObject): void {
    expandCommand(templateOf(tool), parameters)
  }

  /** Removes what an earlier process left, in the background. */
  follow (): void {
    void this.#options.leftovers.searchOnce(this.#options.finder)
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closing) throw new SkilletError('OVERLOADED', 'The executor is stopping and takes no new runs')
    if (signal.aborted) return cancelled
    const stop = new Canceller()
    const cancel = (): void => { stop.abort() }
    signal.addEventListener('abort', cancel, { once: true })
    const run = this.#run(task, observer, stop)
    const active = { stop, done: run.catch(() => {}) }
    this.#active.add(active)
    try {
      return await run
    } finally {
      this.#active.delete(active)
      signal.removeEventListener('abort', cancel)
    }
  }

  async #run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    const command = expandCommand(templateOf(task.tool), task.parameters)
    const spec = containerOf(task.skill, task.tool)
    let engine: Engine
    let mounts: Mount[]
    try {
      this.#refuse(task, spec)
      mounts = this.#mountsOf(task, spec)
      engine = await this.#options.finder.find()
    } catch (error) {
      if (error instanceof EngineFault) return failed(`${nameOf(task)} could not be started: ${error.message}`)
      throw error
    }
    await this.#options.leftovers.begin(engine)
    if (signal.aborted) return cancelled
    return await this.#runIn(engine, { task, spec, command, mounts }, observer, signal)
  }

  /** Ends all runs. Resolves when their containers are removed, or when that took too long. */
  async close (): Promise<void> {
    this.#closing = true
    for (const { stop } of this.#active) stop.abort()
    await within(close_ms, Promise.all([...this.#active].map(({ done }) => done)))
    await this.#options.remover.close()
  }

  async #runIn (
    engine: Engine, run: { task: Task, spec: ContainerSpec, command: Command, mounts: Mount[] }, observer: TaskObserver,
    signal: CancelSignal
  ): Promise<Outcome> {
    const { task, spec, command, mounts } = run
    const { skill } = task
    const { leftovers, remover, runOptions, isolation } = this.#options
    const name = `skillet-${randomUUID()}`
    const limits = limitsOf(skill.permissions, isolation)
    const args = runVector({
      spec, command, name, mounts, limits, runOptions,
      labels: leftovers.labels,
      network: skill.permissions.network === true,
      user: userOf(engine),
      variables: [...skill.permissions.env, ...Object.keys(task.secrets ?? {})]
    })
    let outcome: Outcome | undefined
    try {
      outcome = await this.#commands().run(this.#tasks.of(engine, args, task, command), relay(observer), signal)
    } finally {
      await this.#remove(engine, name, outcome, remover)
    }
    const memory_bytes_max = spec.run_options === undefined ? limits.memory_bytes_max : 0
    return explain(outcome, { name: nameOf(task), engine, spec, program: command.program, memory_bytes_max })
  }

  /**
   * Removes a container unless the engine did that itself, as it does when its program ends by itself. A run that was
   * ended waits for it, since until then its tool may still work.
   */
  async #remove (engine: Engine, name: string, outcome: Outcome | undefined, remover: Remover): Promise<void> {
    if (outcome?.status === 'success') return
    const { exit_code, signal } = outcome?.status === 'failed' ? outcome.error.details : {}
    const isOver = typeof exit_code === 'number' && signal === undefined
    const removal = remover.remove(engine, name, !isOver)
    if (!isOver) await within(removal_ms, removal)
  }

  #mountsOf (task: Task, { folder }: ContainerSpec): Mount[] {
    const { skill } = task
    const { read = [], write } = skill.permissions
    const own: Mount[] = folder === undefined ? [] : [{ from: skill.directory, at: folder, access: 'read' }]
    if (read.length + write.length === 0) return own
    return [...own, ...mountsOf(this.#book ??= this.#options.createBook(), task)]
  }

  /** @throws EngineFault when a container can't give what the skill, or the user, asks for */
  #refuse ({ skill }: Task, { run_options }: ContainerSpec): void {
    if (typeof skill.permissions.network !== 'boolean') {
      throw new EngineFault('a container can\'t be limited to a list in permissions.network')
    }
    const demand = run_options === undefined ? undefined : demandOf(skill, this.#options.isolation)?.why
    if (demand === undefined) return
    throw new EngineFault(`its manifest chooses what its container may use, so it must be trusted (${demand})`)
  }

  #commands (): Executor {
    const executor = this.#executors.get('native')
    if (executor !== undefined) return executor
    throw new SkilletError('OVERLOADED', 'No executor for the runtime "native" is running', { runtime: 'native' })
  }
}

const cancelled: Outcome = { status: 'cancelled', output: '', output_truncated: false }

/** An observer of the engine's program that passes all on. */
function relay (observer: TaskObserver): TaskObserver {
  const { output } = observer
  return {
    started: (_, ago_ms) => { observer.started('container', ago_ms) },
    progress: (...progress) => { observer.progress(...progress) },
    log: (...line) => { observer.log(...line) },
    ...(output !== undefined && { output: (text, stream) => { output.call(observer, text, stream) } })
  }
}

/**
 * docker starts a container as root of this machine unless it is told otherwise; files that it writes would be root's.
 * podman maps the root of a container to the user.
 */
function userOf ({ kind }: Engine): string | undefined {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  return kind === 'docker' && uid !== 0 ? `${uid}:${gid}` : undefined
}

function nameOf ({ skill, tool }: Task): string {
  return `${skill.name}:${tool.name}`
}

function templateOf (tool: ToolDefinition): NonNullable<ToolDefinition['command']> {
  if (tool.command === undefined) throw new Error(`the tool ${tool.name} of a container has no command`)
  return tool.command
}
