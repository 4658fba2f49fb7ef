import {
  Bus, Canceller, SkilletError, silentLogger, type Config, type Decision, type Execution, type ExecutionStatus,
  type JsonObject, type ProcessIdentity
} from '../../kernel/index.ts'
import { Executions } from '../../kernel/executions/executions.ts'
import { Recovery } from '../../kernel/executions/recovery.ts'
import { noSecrets } from '../../kernel/secrets/secrets.ts'
import { skillOf } from '../../plugins/testing/skill.ts'
import { SimulatedExecutor, type SimulatedRun } from './executor.ts'
import { demand } from './rules.ts'
import { SimulatedStorage, type SimulatedDisk } from './storage.ts'

const { skill, tool } = skillOf('simulated', { name: 'tool' })

/** What the processes of a history have in common. */
export interface World {
  readonly disk: SimulatedDisk
  readonly config: Config
  /** How many records may wait for a commit, in each process. */
  readonly pending_max: number
  readonly alive: Set<string>
  /** Told of each run that the kernel gives to an executor. */
  began (run: SimulatedRun, process: SimulatedProcess): void
  /** Told of each tool that starts. */
  started (run: SimulatedRun): void
}

/** The reply to a client: neither field is defined until it has one. */
interface Reply {
  result: Execution | undefined
  error: unknown
}

/** A request to execute, and what the client learned of it. */
export interface Request extends Reply {
  readonly number: number
  readonly process: SimulatedProcess
  readonly signal: Canceller
  /** The id that the client learned before the end; undefined where it did not. */
  accepted: string | undefined
  run: SimulatedRun | undefined
}

/** A request to cancel, or a decision, and its reply. */
export interface Cancellation extends Reply {
  readonly process: SimulatedProcess
  readonly id: string
}

/** A request for an asynchronous run, or for one with a key: the reply to the first is not the end. */
export interface Submission extends Reply {
  readonly process: SimulatedProcess
  readonly asynchronous: boolean
  readonly key: number | undefined
  /** The status that the client received. */
  status: ExecutionStatus | undefined
}

/** A process with the real code of executions, on a simulated storage and executor. */
export class SimulatedProcess {
  readonly identity: ProcessIdentity
  readonly storage: SimulatedStorage
  readonly executor: SimulatedExecutor
  readonly #world: World
  readonly #executions: Executions
  readonly #recovery: Recovery
  readonly #heard = new Map<string, ExecutionStatus[]>()
  #stopWatching: (() => void) | undefined
  /** Ready to take requests. */
  isReady = false
  /** The process takes no new executions. */
  isDraining = false
  isDrained = false
  hasCrashed = false
  isAlive = true

  /** @param listens whether the bus has a listener for transitions: executions are then saved at once */
  constructor (world: World, started: string, listens: boolean) {
    this.#world = world
    this.identity = { pid: 1, started }
    world.alive.add(started)
    this.storage = new SimulatedStorage(world.disk, world.pending_max)
    this.executor = new SimulatedExecutor(run => { world.began(run, this) }, world.started)
    const bus = new Bus(silentLogger)
    if (listens) bus.on('transition', ({ execution_id, status }) => { this.#hear(execution_id, status) })
    this.#executions = new Executions({
      config: world.config,
      storage: this.storage,
      executors: new Map([['simulated', this.executor]]),
      secrets: noSecrets,
      private_paths: [],
      bus,
      log: silentLogger,
      processes: { thisProcess: () => this.identity, isAlive: ({ started }) => world.alive.has(started) }
    })
    this.#executions.adoptWith(({ parameters, transport, key, queue }) =>
      ({ skill, tool, parameters, timeout_ms: queue?.timeout_ms ?? 0, transport, key }))
    this.#recovery = new Recovery(this.#executions, silentLogger)
    void this.#boot()
  }

  /** The transitions that were published, by execution. */
  get heard (): ReadonlyMap<string, readonly ExecutionStatus[]> {
    return this.#heard
  }

  /** Executions that wait for their start; those whose outcome the kernel may not know yet are counted only at most. */
  waiting (): { min: number, max: number } {
    const queued = [...this.executor.waiting].filter(run => !run.isReported)
    return { min: queued.filter(run => !run.isAnswered).length, max: queued.length }
  }

  /** Must be called when no promise has anything left to do. */
  settled (): void {
    for (const run of this.executor.waiting) if (run.isReported || run.isAnswered) this.executor.waiting.delete(run)
  }

  /** @param isKnown whether the client learns the id before the end */
  execute (request: Request, isKnown: boolean, acknowledge: (execution: Execution) => void): void {
    const parameters = { request: request.number }
    const job = { skill, tool, parameters, timeout_ms: 1_000, transport: 'http', key: null } as const
    const accepted = (id: string): void => { request.accepted = id }
    const before = this.executor.runs.length
    try {
      const ended = this.#executions.run(job, request.signal, isKnown ? accepted : undefined)
      request.run = this.executor.runs[before]
      void this.#reply(request, ended, acknowledge)
    } catch (error) {
      demand(error instanceof SkilletError && error.code === 'OVERLOADED', 'only an overload refuses', String(error))
      request.error = error
    }
  }

  /** @param queue how an asynchronous run waits; undefined for another one */
  submit (
    submission: Submission, parameters: JsonObject, queue: { priority: number, queue_ms: number } | undefined,
    acknowledge: (execution: Execution) => void
  ): void {
    const job = { skill, tool, parameters, timeout_ms: 1_000, transport: 'http', key: null } as const
    const once = submission.key === undefined
      ? undefined
      : { key: `key ${submission.key}`, fingerprint: 'same', expires_ms: Number.POSITIVE_INFINITY }
    if (queue !== undefined) void this.#reply(submission, this.#executions.submit(job, queue, once), acknowledge)
    else if (once !== undefined) {
      void this.#reply(submission, this.#executions.runOnce(job, once, new Canceller()), acknowledge)
    }
  }

  decide (
    reply: Cancellation, digest: string, decision: Decision['decision'], acknowledge: (execution: Execution) => void
  ): void {
    const decided = this.#executions.decide(reply.id, { decision, by: 'terminal', digest }, new Canceller())
    void this.#reply(reply, decided, acknowledge)
  }

  cancel (cancellation: Cancellation, acknowledge: (execution: Execution) => void): void {
    void this.#reply(cancellation, this.#executions.cancel(cancellation.id, new Canceller()), acknowledge)
  }

  /** @param drained callback: called when the drain has ended */
  drain (drained: () => void): void {
    if (this.isDraining || !this.isReady) return
    this.isDraining = true
    const ended = (): void => {
      if (!this.isAlive) return
      this.isDrained = true
      drained()
    }
    this.#executions.drain(this.#world.config.execution.drain_ms).then(ended, ended)
  }

  /**
   * All state in memory is lost.
   * @param kept how many of the records that wait for a commit are on the disk nevertheless
   */
  crash (kept: number): void {
    this.hasCrashed = true
    this.storage.crash(kept)
    this.exit()
  }

  /** The process ends; its storage has committed all records. */
  exit (): void {
    this.isAlive = false
    this.isReady = false
    this.#world.alive.delete(this.identity.started)
    this.#stopWatching?.()
    void this.#recovery.close()
    this.storage.crash(0)
    for (const run of this.executor.runs) run.crash()
  }

  /** Gives a client its reply, unless the process has died. */
  async #reply (to: Reply, promise: Promise<Execution>, acknowledge: (execution: Execution) => void): Promise<void> {
    try {
      const execution = await promise
      if (!this.isAlive) return
      to.result = execution
      acknowledge(execution)
    } catch (error) {
      if (this.isAlive) to.error = error
    }
  }

  async #boot (): Promise<void> {
    await this.#recovery.start()
    if (!this.isAlive) return
    this.#stopWatching = this.#executions.watchCancelRequests()
    this.isReady = true
  }

  #hear (id: string, status: ExecutionStatus): void {
    if (!this.isAlive) return
    const heard = this.#heard.get(id) ?? []
    this.#heard.set(id, heard)
    heard.push(status)
  }
}
