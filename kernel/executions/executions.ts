import type { Bus } from '../contracts/bus.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import type { Config } from '../contracts/config.ts'
import type { Executor, Outcome, Task } from '../contracts/executor.ts'
import type { Storage, StoredExecution, UnfinishedExecution } from '../contracts/storage.ts'
import { ERRORS, isErrorCode, messageOf, SkilletError, type ErrorCode } from '../lib/errors.ts'
import type { ExecutionEvent } from './execution.machine.ts'
import { newExecutionId } from '../lib/id.ts'
import { List } from '../lib/list.ts'
import type { Job } from '../contracts/services.ts'
import { ActiveExecution, type Ending, type GivenSecrets } from './active-execution.ts'
import type { Logger } from '../lib/log.ts'
import { runtimeOf, type SkillDefinition, type ToolDefinition } from '../contracts/skill.ts'
import { isAlive, thisProcess, type ProcessIdentity } from '../lib/process-identity.ts'
import { createRedactor, secretMark, type Redactor } from '../secrets/redact.ts'
import type { Execution, Isolation, JsonObject } from '../contracts/schemas.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { isoTime } from '../lib/time.ts'
import { isFinal, nextStatus } from './transitions.ts'
import { within } from '../lib/within.ts'

interface Dependencies {
  config: Config
  storage: Storage
  executors: ReadonlyMap<string, Executor>
  secrets: Secrets
  /** Files and folders that tools which read files for callers must refuse. */
  private_paths: readonly string[]
  bus: Bus
  log: Logger
}

/** How often requests of other processes to cancel are looked for. */
const cancelPoll_ms = 100
/** An execution whose id nobody knows yet is saved when it has not ended after so long: most end sooner, and are written once. */
const unseen_ms = 20
/** How long an aborted run has to end before its record is closed without it. */
const stragglers_ms = 3_000
/** How long `cancel` waits for another process to end its run. */
const cancelRemote_ms = 10_000
/** Executions of dead processes that are closed before it is asked again whether to go on. */
const recoverSlice = 2_048

/** The configuration of a skill that has none. */
const unset = Object.freeze({})

/** Runs executions: each is a state of the transition table, an executor's run, and a record in storage. */
export class Executions {
  /** Those that the storage does not have yet, the oldest first: nobody knows their ids. */
  readonly #unseen = new List<ActiveExecution>()
  /** All others, by id. */
  readonly #seen = new Map<string, ActiveExecution>()
  #saver: NodeJS.Timeout | undefined
  readonly #dependencies: Dependencies
  /** What skills are given that are given more than their own section: the same object as long as the skill is. */
  readonly #configs = new WeakMap<SkillDefinition, JsonObject>()
  #waiting = 0
  #stopping = false

  constructor (dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Runs a job to its end. An aborted signal cancels it. Throws at once, and not by rejecting, where there is no execution.
   * @param accepted told its id, before the first event that carries it
   * @returns the final record, acknowledged as `storage.durability` says
   * @throws SkilletError OVERLOADED when the queue is full or the server stops; then there is no execution
   */
  run (job: Job, signal: CancelSignal, accepted?: (execution_id: string) => void): Promise<Execution> {
    const executor = this.#executorOf(job)
    const active = this.#accept(job, accepted !== undefined)
    const cancel = (): void => { this.#end(active, 'cancel') }
    accepted?.(active.execution.id)
    this.#record(active.execution, active.execution.created_at)
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return active.endBy(this.#perform(active, executor, () => { signal.removeEventListener('abort', cancel) }))
  }

  /**
   * Cancels an execution, of this process or another, and waits for its end.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when it ended otherwise
   */
  async cancel (id: string, signal: CancelSignal): Promise<Execution> {
    const active = this.#liveOf(id)
    if (active !== undefined) {
      this.#end(active, 'cancel')
      return cancelled(await active.ended)
    }
    let stored = await this.#find(id)
    if (stored.owner !== null && !isFinal(stored.execution.status)) {
      if (isAlive(stored.owner)) await this.#dependencies.storage.requestCancel(id)
      else await this.#interrupt([{ id, owner: stored.owner }])
      stored = await this.#find(id)
      for (const until = performance.now() + cancelRemote_ms; !isFinal(stored.execution.status) && !signal.aborted && performance.now() < until;) {
        await new Promise(resolve => setTimeout(resolve, cancelPoll_ms / 2))
        stored = await this.#find(id)
      }
      if (!isFinal(stored.execution.status)) return stored.execution
      return cancelled(stored.execution)
    }
    throw conflict(stored.execution)
  }

  /** Closes the records of executions whose process died, until the signal aborts. @returns how many */
  async recover (signal: AbortSignal): Promise<number> {
    const abandoned = (await this.#dependencies.storage.unfinished()).filter(ofTheDead())
    let closed = 0
    for (let from = 0; from < abandoned.length && !signal.aborted; from += recoverSlice) {
      closed += await this.#interrupt(abandoned.slice(from, from + recoverSlice))
    }
    return closed
  }

  /** Keeps looking for requests of other processes to cancel, until the returned function is called. */
  watchCancelRequests (): () => void {
    const timer = setInterval(() => {
      if (this.#seen.size === 0) return
      for (const id of this.#dependencies.storage.cancelRequests()) {
        const active = this.#seen.get(id)
        if (active !== undefined) this.#end(active, 'cancel')
      }
    }, cancelPoll_ms).unref()
    return () => { clearInterval(timer) }
  }

  /** Accepts no more, lets running ones finish for `drain_ms`, then interrupts them. Resolves when all have ended. */
  async drain (drain_ms: number): Promise<void> {
    this.#stopping = true
    await within(drain_ms, this.#allEnded())
    for (const active of this.#all()) this.#end(active, 'interrupt')
    await within(stragglers_ms, this.#allEnded())
    const stragglers = this.#all().filter(({ execution }) => !isFinal(execution.status)) // the others only wait for their commit
    for (const active of stragglers) {
      this.#dependencies.log.error({ execution_id: active.execution.id }, 'an executor did not end an aborted run')
      const execution = interrupted(active.execution)
      this.#tell(execution)
      this.#dependencies.storage.save({ execution, owner: null })
    }
    if (stragglers.length > 0) await this.#dependencies.storage.commit()
  }

  async #allEnded (): Promise<void> {
    await Promise.allSettled(this.#all().map(active => active.ended))
  }

  #all (): ActiveExecution[] {
    return [...this.#unseen, ...this.#seen.values()]
  }

  #liveOf (id: string): ActiveExecution | undefined {
    const seen = this.#seen.get(id)
    if (seen !== undefined) return seen
    for (const active of this.#unseen) if (active.execution.id === id) return active
    return undefined
  }

  /** Where a job will run. @throws SkilletError when it can't now, or never with its parameters */
  #executorOf (job: Job): Executor {
    const { config, executors } = this.#dependencies
    if (this.#stopping) throw new SkilletError('OVERLOADED', 'The server is stopping and takes no new executions')
    if (this.#waiting >= config.execution.queue_max) {
      throw new SkilletError('OVERLOADED', `${this.#waiting} executions are waiting, as many as execution.queue_max allows; try again later`)
    }
    const runtime = runtimeOf(job.skill, job.tool)
    const executor = executors.get(runtime)
    if (executor === undefined) throw new SkilletError('OVERLOADED', `No executor for the runtime "${runtime}" is running`, { runtime })
    executor.check?.(job.tool, job.parameters)
    return executor
  }

  /** @param told whether somebody will know its id before it ends */
  #accept (job: Job, told: boolean): ActiveExecution {
    const secrets = this.#secretsOf(job.skill)
    const redactor = redactorOf(job, secrets)
    this.#dependencies.storage.admit()
    const now = isoTime()
    const execution: Execution = {
      id: newExecutionId(),
      skill_name: job.skill.name,
      tool_name: job.tool.name,
      status: 'queued',
      created_at: now,
      duration_ms: 0,
      runtime: runtimeOf(job.skill, job.tool),
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
    this.#waiting++
    const active = new ActiveExecution(execution, job, secrets, redactor, this.#dependencies.bus, this.#begin)
    if (told || this.#dependencies.bus.has('transition')) this.#save(active)
    else this.#saveLater(active)
    return active
  }

  /** @param leave called when it has ended */
  async #perform (active: ActiveExecution, executor: Executor, leave: () => void): Promise<Execution> {
    const { config, log, storage } = this.#dependencies
    const { execution, job, secrets } = active
    const task: Task = {
      execution_id: execution.id,
      skill: job.skill,
      tool: job.tool,
      parameters: job.parameters,
      timeout_ms: job.timeout_ms,
      config: this.#configOf(job.skill),
      ...(secrets !== undefined && { secrets: secrets.values })
    }
    try {
      const outcome: Outcome = secrets?.refusal === undefined
        ? await executor.run(task, active, active.abort)
        : { status: 'failed', output: '', output_truncated: false, error: { message: secrets.refusal, details: {} } }
      const { output, output_truncated } = outcome
      this.#conclude(active, outcome, active.redactor === undefined ? output : await active.redactor.output(output, output_truncated))
    } catch (error) {
      const fault = SkilletError.from(error)
      log.error({ execution_id: execution.id, error: active.clean(messageOf(fault.cause ?? fault)) }, 'an execution could not be run')
      this.#fail(active, fault.code, fault.message, fault.details, 'fail')
    } finally {
      if (active.began_ms === undefined) this.#waiting--
    }
    try {
      storage.save({ execution, owner: null })
      if (config.storage.durability === 'committed') await storage.commit()
    } finally {
      if (!this.#unseen.delete(active)) this.#seen.delete(execution.id)
      leave()
    }
    return execution
  }

  readonly #begin = (active: ActiveExecution, isolation: Isolation, ago_ms: number): void => {
    if (active.began_ms !== undefined || !this.#move(active, 'begin', ago_ms)) return
    this.#waiting--
    active.began_ms = performance.now() - ago_ms
    active.execution.isolation = isolation
    active.execution.started_at = active.execution.transitions.at(-1)?.at ?? null
    if (!this.#unseen.has(active)) this.#save(active)
  }

  #save (active: ActiveExecution): void {
    this.#unseen.delete(active)
    this.#seen.set(active.execution.id, active)
    this.#dependencies.storage.save({ execution: active.execution, owner: thisProcess() })
  }

  /** Nobody can ask for it, unless it takes a while. */
  #saveLater (active: ActiveExecution): void {
    this.#unseen.push(active)
    this.#saver ??= setInterval(() => {
      const before_ms = performance.now() - unseen_ms
      for (const active of this.#unseen) {
        if (active.accepted_ms > before_ms) return
        // One that has ended is saved already, and only waits for its commit.
        if (!isFinal(active.execution.status)) this.#save(active)
      }
      if (this.#unseen.size > 0) return
      clearInterval(this.#saver)
      this.#saver = undefined
    }, unseen_ms).unref()
  }

  /** Closes the record by what the executor answered. @param output without secrets */
  #conclude (active: ActiveExecution, outcome: Outcome, output: string): void {
    const { execution, job } = active
    execution.output = output
    execution.output_truncated = outcome.output_truncated
    switch (outcome.status) {
      case 'success':
        if (active.began_ms === undefined) throw new Error(`the executor of ${execution.runtime} answered without having started`)
        this.#move(active, 'succeed')
        break
      case 'failed':
        return this.#fail(active, 'TOOL_EXECUTION_FAILED', outcome.error.message, outcome.error.details, 'fail')
      case 'timeout':
        return this.#fail(active, 'TIMEOUT', `${job.skill.name}:${job.tool.name} went past its time limit of ${job.timeout_ms} ms`, { timeout_ms: job.timeout_ms }, 'expire')
      case 'cancelled':
        if (active.ending === 'interrupt') this.#fail(active, 'INTERRUPTED', ERRORS.INTERRUPTED.meaning, {}, 'interrupt')
        else this.#fail(active, 'CANCELLED', ERRORS.CANCELLED.meaning, {}, 'cancel')
    }
  }

  #fail (active: ActiveExecution, code: ErrorCode, message: string, details: JsonObject, event: ExecutionEvent['type']): void {
    const said = active.redactor === undefined ? { message, details } : active.redactor.failure(message, details)
    active.execution.error = { code, message: said.message, details: { skill: active.job.skill.name, tool: active.job.tool.name, execution_id: active.execution.id, ...said.details } }
    this.#move(active, event)
  }

  /** Records the state that an event leads to. @returns whether it led to another */
  #move (active: ActiveExecution, type: ExecutionEvent['type'], ago_ms = 0): boolean {
    const { execution } = active
    const status = nextStatus(execution.status, { type })
    if (status === execution.status) return false
    execution.status = status
    const then = isoTime(Date.now() - ago_ms)
    // Told late and rounded, it may seem to have begun before it was there.
    const at = then < execution.created_at ? execution.created_at : then
    if (isFinal(status)) {
      execution.finished_at = at
      if (active.began_ms !== undefined) execution.duration_ms = Math.round(performance.now() - active.began_ms)
    }
    this.#record(execution, at)
    return true
  }

  #record (execution: Execution, at: string): void {
    execution.transitions.push({ status: execution.status, at })
    this.#tell(execution)
  }

  /** Tells the bus of the newest transition. */
  #tell ({ id, skill_name, tool_name, transitions }: Execution): void {
    if (!this.#dependencies.bus.has('transition')) return
    const newest = transitions.at(-1)
    if (newest !== undefined) this.#dependencies.bus.emit('transition', { execution_id: id, skill_name, tool_name, ...newest })
  }

  #end (active: ActiveExecution, ending: Ending): void {
    if (active.abort.aborted) return
    active.ending = ending
    active.abort.abort()
  }

  /** Closes the records of executions that no process works on any more, where that is still so. @returns how many */
  async #interrupt (found: readonly UnfinishedExecution[]): Promise<number> {
    const closed = new Map<string, Execution>()
    const ids = await this.#dependencies.storage.endUnfinished(found, execution => {
      const final = interrupted(execution)
      // Only what the bus needs: all that the records hold would be too much to keep.
      closed.set(final.id, { ...final, parameters: {}, output: '' })
      return final
    })
    for (const id of ids) {
      const execution = closed.get(id)
      if (execution !== undefined) this.#tell(execution)
    }
    return ids.length
  }

  #configOf (skill: SkillDefinition): JsonObject {
    const { config: { skills: { config } }, private_paths } = this.#dependencies
    const own = config[skill.name] ?? unset
    if (skill.reads_files !== true && skill.config_from === undefined) return own
    let whole = this.#configs.get(skill)
    if (whole === undefined) {
      whole = { ...(skill.config_from !== undefined && config[skill.config_from]), ...own, ...(skill.reads_files === true && { private_paths }) }
      this.#configs.set(skill, whole)
    }
    return whole
  }

  /** Looked up for every run, so that a change takes effect. */
  #secretsOf ({ name, permissions }: SkillDefinition): GivenSecrets | undefined {
    if (permissions.secrets.length === 0) return undefined
    try {
      const { values, missing } = this.#dependencies.secrets.of(name, permissions.secrets)
      return { values, refusal: missing[0] && `the skill "${name}" needs the secret ${missing.join(', ')}; set it: skillet secret set ${name} ${missing[0]}` }
    } catch (error) {
      return { values: {}, refusal: `the secrets of the skill "${name}" can't be used: ${messageOf(error)}` }
    }
  }

  async #find (id: string): Promise<StoredExecution> {
    const stored = await this.#dependencies.storage.get(id)
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

/** The final record of an execution that nobody finishes. */
function interrupted (found: Execution): Execution {
  const status = nextStatus(found.status, { type: 'interrupt' })
  const at = isoTime()
  return {
    ...found,
    status,
    finished_at: at,
    error: { code: 'INTERRUPTED', message: ERRORS.INTERRUPTED.meaning, details: { skill: found.skill_name, tool: found.tool_name, execution_id: found.id } },
    transitions: [...found.transitions, { status, at }]
  }
}

/** Finds what belongs to processes that live no more. Each process is asked for once: that reads a file, or starts a command. */
function ofTheDead (): (unfinished: { owner: ProcessIdentity }) => boolean {
  const known = new Map<string, boolean>()
  return ({ owner }) => {
    const key = `${owner.pid} ${owner.started}`
    let lives = known.get(key)
    if (lives === undefined) known.set(key, lives = isAlive(owner))
    return !lives
  }
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
