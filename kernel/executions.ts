import type { Bus } from './bus.ts'
import type { Config } from './config.ts'
import type { Executor, Outcome, Storage, StoredExecution, TaskObserver } from './contracts.ts'
import { ERRORS, isErrorCode, messageOf, SkilletError, type ErrorCode } from './errors.ts'
import type { ExecutionEvent } from './execution.machine.ts'
import { newExecutionId } from './id.ts'
import type { Logger } from './log.ts'
import type { SkillDefinition, ToolDefinition } from './manifest.ts'
import { isAlive, thisProcess } from './owner.ts'
import { createRedactor, secretMark, type Redactor } from './redact.ts'
import type { Execution, JsonObject } from './schemas.ts'
import type { Secrets } from './secrets.ts'
import { createExecutionActor, isFinal, nextStatus, type ExecutionActor } from './transitions.ts'
import { within } from './within.ts'

/** A call that was validated and may run. */
export interface Job {
  skill: SkillDefinition
  tool: ToolDefinition
  parameters: JsonObject
  timeout_ms: number
  transport: Execution['transport']
  /** Name of the key it was called with, or null. */
  key: string | null
}

/** Why a run is ended from outside. */
type Ending = 'cancel' | 'interrupt'

/** An execution that has not ended, in this process. */
interface Live {
  readonly execution: Execution
  readonly actor: ExecutionActor
  readonly abort: AbortController
  /** What the skill is given; undefined where it declares nothing. */
  readonly secrets: GivenSecrets | undefined
  /** For everything that is kept or sent of it; undefined where there is no secret. */
  readonly redactor: Redactor | undefined
  readonly ended: Promise<Execution>
  ending: Ending
  /** performance.now() at its start, once it runs. */
  began_ms: number | undefined
}

/** The secrets of a run's skill, or why it can't have them. */
interface GivenSecrets { values: Record<string, string>, refusal: string | undefined }

interface Dependencies {
  config: Config
  storage: Storage
  executors: ReadonlyMap<string, Executor>
  secrets: Secrets
  bus: Bus
  log: Logger
}

/** How often requests of other processes to cancel are looked for. */
const cancelPoll_ms = 100
/** How long an aborted run has to end before its record is closed without it. */
const stragglers_ms = 3_000
/** How long `cancel` waits for another process to end its run. */
const cancelRemote_ms = 10_000

/** Runs executions: each is an actor over the transition table, an executor's run, and a record in storage. */
export class Executions {
  readonly #live = new Map<string, Live>()
  readonly #it: Dependencies
  #waiting = 0
  #stopping = false

  constructor (dependencies: Dependencies) {
    this.#it = dependencies
  }

  /** How many executions have not ended, in this process. */
  get live (): number {
    return this.#live.size
  }

  /**
   * Runs a job to its end. An aborted signal cancels it.
   * @param accepted told its id, before the first event that carries it
   * @returns the final record, acknowledged as `storage.durability` says
   * @throws SkilletError OVERLOADED when the queue is full or the server stops; then there is no execution
   */
  async run (job: Job, signal: AbortSignal, accepted?: (execution_id: string) => void): Promise<Execution> {
    const live = this.#accept(job, accepted)
    const cancel = (): void => { this.#end(live, 'cancel') }
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    try {
      return await live.ended
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /**
   * Cancels an execution, of this process or another, and waits for its end.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when it ended otherwise
   */
  async cancel (id: string, signal: AbortSignal): Promise<Execution> {
    const live = this.#live.get(id)
    if (live !== undefined) {
      this.#end(live, 'cancel')
      return cancelled(await live.ended)
    }
    let stored = await this.#find(id)
    if (stored.owner !== null && !isFinal(stored.execution.status)) {
      if (isAlive(stored.owner)) await this.#it.storage.requestCancel(id)
      else stored = { execution: await this.#interrupt(stored.execution), owner: null }
      for (const until = performance.now() + cancelRemote_ms; !isFinal(stored.execution.status) && !signal.aborted && performance.now() < until;) {
        await new Promise(resolve => setTimeout(resolve, cancelPoll_ms / 2))
        stored = await this.#find(id)
      }
      if (!isFinal(stored.execution.status)) return stored.execution
      return cancelled(stored.execution)
    }
    throw conflict(stored.execution)
  }

  /** Closes the records of executions whose process died. @returns how many */
  async recover (): Promise<number> {
    let found = 0
    for (const { execution, owner } of await this.#it.storage.unfinished()) {
      if (this.#live.has(execution.id) || (owner !== null && isAlive(owner))) continue
      await this.#interrupt(execution)
      found++
    }
    return found
  }

  /** Keeps looking for requests of other processes to cancel, until the returned function is called. */
  watchCancelRequests (): () => void {
    const timer = setInterval(() => {
      if (this.#live.size === 0) return
      for (const id of this.#it.storage.cancelRequests()) {
        const live = this.#live.get(id)
        if (live !== undefined) this.#end(live, 'cancel')
      }
    }, cancelPoll_ms).unref()
    return () => { clearInterval(timer) }
  }

  /** Accepts no more, lets running ones finish for `drain_ms`, then interrupts them. Resolves when all have ended. */
  async drain (drain_ms: number): Promise<void> {
    this.#stopping = true
    await within(drain_ms, this.#allEnded())
    for (const live of this.#live.values()) this.#end(live, 'interrupt')
    await within(stragglers_ms, this.#allEnded())
    for (const live of this.#live.values()) {
      this.#it.log.error({ execution_id: live.execution.id }, 'an executor did not end an aborted run')
      await this.#interrupt(live.execution)
    }
  }

  async #allEnded (): Promise<void> {
    await Promise.allSettled([...this.#live.values()].map(live => live.ended))
  }

  #accept (job: Job, accepted: ((execution_id: string) => void) | undefined): Live {
    const { config, executors } = this.#it
    if (this.#stopping) throw new SkilletError('OVERLOADED', 'The server is stopping and takes no new executions')
    if (this.#waiting >= config.execution.queue_max) {
      throw new SkilletError('OVERLOADED', `${this.#waiting} executions are waiting, as many as execution.queue_max allows; try again later`)
    }
    const executor = executors.get(job.skill.runtime)
    if (executor === undefined) throw new SkilletError('OVERLOADED', `No executor for the runtime "${job.skill.runtime}" is running`, { runtime: job.skill.runtime })
    executor.check?.(job.tool, job.parameters)
    const secrets = this.#secretsOf(job.skill)
    const redactor = redactorOf(job, secrets)
    const now = new Date().toISOString()
    const execution: Execution = {
      id: newExecutionId(),
      skill_name: job.skill.name,
      tool_name: job.tool.name,
      status: 'queued',
      created_at: now,
      duration_ms: 0,
      runtime: job.skill.runtime,
      started_at: null,
      finished_at: null,
      parameters: withoutSecrets(job.tool, job.parameters, redactor),
      output: '',
      output_truncated: false,
      error: null,
      transitions: [],
      transport: job.transport,
      key: job.key,
      isolation: null
    }
    this.#it.storage.save({ execution, owner: thisProcess() })
    this.#waiting++
    const { promise, resolve, reject } = withResolvers<Execution>()
    const live: Live = { execution, actor: createExecutionActor(), abort: new AbortController(), secrets, redactor, ended: promise, ending: 'cancel', began_ms: undefined }
    this.#live.set(execution.id, live)
    accepted?.(execution.id)
    this.#record(execution, now)
    this.#perform(live, job, executor).then(resolve, reject)
    return live
  }

  async #perform (live: Live, job: Job, executor: Executor): Promise<Execution> {
    const { bus, config, log, storage } = this.#it
    const { execution, redactor, secrets } = live
    const clean = (text: string): string => redactor === undefined ? text : redactor.text(text)
    const observer: TaskObserver = {
      started: isolation => { this.#begin(live, isolation) },
      progress: (done, total, message) => { bus.emit('progress', { execution_id: execution.id, done, total, message: message === undefined ? undefined : clean(message) }) },
      log: (level, text) => { bus.emit('log', { execution_id: execution.id, level, text: clean(text) }) },
      // A secret may lie across two pieces, where no redactor finds it.
      ...(redactor === undefined && bus.has('output') && { output: (text: string) => { bus.emit('output', { execution_id: execution.id, text }) } })
    }
    const task = {
      execution_id: execution.id,
      skill: job.skill,
      tool: job.tool,
      parameters: job.parameters,
      timeout_ms: job.timeout_ms,
      config: config.skills.config[job.skill.name] ?? {},
      ...(secrets !== undefined && { secrets: secrets.values })
    }
    try {
      const outcome: Outcome = secrets?.refusal === undefined
        ? await executor.run(task, observer, live.abort.signal)
        : { status: 'failed', output: '', output_truncated: false, error: { message: secrets.refusal, details: {} } }
      this.#conclude(live, job, outcome)
    } catch (error) {
      const fault = SkilletError.from(error)
      log.error({ execution_id: execution.id, error: clean(messageOf(fault.cause ?? fault)) }, 'an execution could not be run')
      this.#fail(live, job, fault.code, fault.message, fault.details, 'fail')
    } finally {
      if (live.began_ms === undefined) this.#waiting--
      live.actor.stop()
    }
    try {
      storage.save({ execution, owner: null })
      if (config.storage.durability === 'committed') await storage.commit()
    } finally {
      this.#live.delete(execution.id)
    }
    return execution
  }

  #begin (live: Live, isolation: Execution['isolation']): void {
    if (live.began_ms !== undefined || !this.#move(live, 'begin')) return
    this.#waiting--
    live.began_ms = performance.now()
    live.execution.isolation = isolation
    live.execution.started_at = live.execution.transitions.at(-1)?.at ?? null
    this.#it.storage.save({ execution: live.execution, owner: thisProcess() })
  }

  /** Closes the record by what the executor answered. */
  #conclude (live: Live, job: Job, outcome: Outcome): void {
    const { execution, redactor } = live
    execution.output = redactor === undefined ? outcome.output : redactor.output(outcome.output, outcome.output_truncated)
    execution.output_truncated = outcome.output_truncated
    switch (outcome.status) {
      case 'success':
        if (live.began_ms === undefined) throw new Error(`the executor of ${execution.runtime} answered without having started`)
        this.#move(live, 'succeed')
        break
      case 'failed':
        return this.#fail(live, job, 'TOOL_EXECUTION_FAILED', outcome.error.message, outcome.error.details, 'fail')
      case 'timeout':
        return this.#fail(live, job, 'TIMEOUT', `${job.skill.name}:${job.tool.name} went past its time limit of ${job.timeout_ms} ms`, { timeout_ms: job.timeout_ms }, 'expire')
      case 'cancelled':
        if (live.ending === 'interrupt') this.#fail(live, job, 'INTERRUPTED', ERRORS.INTERRUPTED.meaning, {}, 'interrupt')
        else this.#fail(live, job, 'CANCELLED', ERRORS.CANCELLED.meaning, {}, 'cancel')
    }
  }

  #fail (live: Live, job: Job, code: ErrorCode, message: string, details: JsonObject, event: ExecutionEvent['type']): void {
    const said = live.redactor === undefined ? { message, details } : live.redactor.failure(message, details)
    live.execution.error = { code, message: said.message, details: { skill: job.skill.name, tool: job.tool.name, execution_id: live.execution.id, ...said.details } }
    this.#move(live, event)
  }

  /** Sends an event to the actor and records the state it leads to. @returns whether it led to another */
  #move (live: Live, type: ExecutionEvent['type']): boolean {
    const { execution, actor } = live
    actor.send({ type })
    const status = actor.getSnapshot().context
    if (status === execution.status) return false
    execution.status = status
    const at = new Date().toISOString()
    if (isFinal(status)) {
      execution.finished_at = at
      if (live.began_ms !== undefined) execution.duration_ms = Math.round(performance.now() - live.began_ms)
    }
    this.#record(execution, at)
    return true
  }

  #record (execution: Execution, at: string): void {
    execution.transitions.push({ status: execution.status, at })
    this.#it.bus.emit('transition', { execution_id: execution.id, skill_name: execution.skill_name, tool_name: execution.tool_name, status: execution.status, at })
  }

  #end (live: Live, ending: Ending): void {
    if (live.abort.signal.aborted) return
    live.ending = ending
    live.abort.abort()
  }

  /** Closes the record of an execution that no process works on any more. */
  async #interrupt (found: Execution): Promise<Execution> {
    const status = nextStatus(found.status, { type: 'interrupt' })
    if (status === found.status) return found
    const at = new Date().toISOString()
    const execution: Execution = {
      ...found,
      status,
      finished_at: at,
      error: { code: 'INTERRUPTED', message: ERRORS.INTERRUPTED.meaning, details: { skill: found.skill_name, tool: found.tool_name, execution_id: found.id } },
      transitions: [...found.transitions]
    }
    this.#record(execution, at)
    this.#it.storage.save({ execution, owner: null })
    await this.#it.storage.commit()
    return execution
  }

  /** Looked up for every run, so that a change takes effect. */
  #secretsOf ({ name, permissions }: SkillDefinition): GivenSecrets | undefined {
    if (permissions.secrets.length === 0) return undefined
    try {
      const { values, missing } = this.#it.secrets.of(name, permissions.secrets)
      return { values, refusal: missing[0] && `the skill "${name}" needs the secret ${missing.join(', ')}; set it: skillet secret set ${name} ${missing[0]}` }
    } catch (error) {
      return { values: {}, refusal: `the secrets of the skill "${name}" can't be used: ${messageOf(error)}` }
    }
  }

  async #find (id: string): Promise<StoredExecution> {
    const stored = await this.#it.storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    return stored
  }
}

export function executionNotFound (id: string): SkilletError {
  return new SkilletError('EXECUTION_NOT_FOUND', `There is no execution "${id}"; it may have been pruned from the history`, { execution_id: id })
}

/** What a caller of `execute` gets for a final record: the record itself, or the error it ended with. */
export function resultOf (execution: Execution): Execution {
  const { error } = execution
  if (error === null) return execution
  throw new SkilletError(isErrorCode(error.code) ? error.code : 'INTERNAL', error.message, error.details)
}

function cancelled (execution: Execution): Execution {
  if (execution.status !== 'cancelled') throw conflict(execution)
  return execution
}

function conflict ({ id, status }: Execution): SkilletError {
  return new SkilletError('CONFLICT', `The execution has already ended: ${status}`, { execution_id: id, status })
}

function redactorOf ({ tool, parameters }: Job, secrets: GivenSecrets | undefined): Redactor | undefined {
  if (secrets === undefined && tool.secrets.length === 0) return undefined
  const given = tool.secrets.map(name => Object.hasOwn(parameters, name) ? parameters[name] : undefined)
  return createRedactor([...given, ...Object.values(secrets?.values ?? {})])
}

/** The parameters as they are recorded: a secret value is not, nor where another parameter holds it. */
function withoutSecrets (tool: ToolDefinition, parameters: JsonObject, redactor: Redactor | undefined): JsonObject {
  if (tool.secrets.length === 0 && redactor === undefined) return parameters
  const shown = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, tool.secrets.includes(name) ? secretMark : value]))
  return redactor === undefined ? shown : redactor.data(shown)
}

function withResolvers<T> (): { promise: Promise<T>, resolve: (value: T) => void, reject: (reason: unknown) => void } {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((yes, no) => { resolve = yes; reject = no })
  return { promise, resolve, reject }
}
