import type { Bus } from '../contracts/bus.ts'
import type { Config } from '../contracts/config.ts'
import type { Executor, Outcome, SecretsOf, Task } from '../contracts/executor.ts'
import type { Execution, Isolation, JsonObject } from '../contracts/schemas.ts'
import type { Job, Runner } from '../contracts/services.ts'
import { runtimeOf } from '../contracts/skill.ts'
import type { Storage } from '../contracts/storage.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { ERRORS, messageOf, SkilletError, type ErrorCode } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { machineProcesses, type Processes } from '../lib/process-identity.ts'
import { within } from '../lib/within.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { ActiveExecution, type Ending } from './active-execution.ts'
import { ActiveExecutions } from './active-executions.ts'
import type { ExecutionEvent } from './execution.machine.ts'
import { cancelled, OtherProcesses } from './other-processes.ts'
import { move, recordOf, recordTransition } from './record.ts'
import { redactorOf, SkillInputs } from './skill-inputs.ts'
import { isFinal } from './transitions.ts'

interface Dependencies {
  config: Config
  storage: Storage
  executors: ReadonlyMap<string, Executor>
  secrets: Secrets
  /** Files and folders that must be refused by tools which read files for callers. */
  private_paths: readonly string[]
  bus: Bus
  log: Logger
  /** The processes that can share the storage; default: those of this machine. */
  processes?: Processes
}

/** How long an aborted run may take to end, in milliseconds. After that its record is closed without the run. */
const stragglers_ms = 3_000

/** Runs executions. An execution has a state of the transition table, a run of an executor, and a stored record. */
export class Executions implements Runner {
  readonly #dependencies: Dependencies
  readonly #inputs: SkillInputs
  readonly #active: ActiveExecutions
  readonly #others: OtherProcesses
  #waiting = 0
  #stopping = false

  constructor (dependencies: Dependencies) {
    const { config, storage, secrets, private_paths, bus, processes = machineProcesses } = dependencies
    this.#dependencies = dependencies
    this.#inputs = new SkillInputs(config, secrets, private_paths)
    this.#active = new ActiveExecutions(storage, bus, processes)
    this.#others = new OtherProcesses(storage, this.#active, bus, processes)
  }

  run (job: Job, signal: CancelSignal, accepted?: (execution_id: string) => void): Promise<Execution> {
    const executor = this.#executorOf(job)
    const active = this.#accept(job, accepted !== undefined)
    const { execution } = active
    const cancel = (): void => { end(active, 'cancel') }
    if (accepted !== undefined) this.#announce(execution.id, accepted)
    recordTransition(execution, execution.created_at, this.#dependencies.bus)
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return active.endBy(this.#perform(active, executor, () => { signal.removeEventListener('abort', cancel) }))
  }

  /** A caller that throws harms nothing: the execution is accepted, and goes on. */
  #announce (id: string, accepted: (execution_id: string) => void): void {
    try {
      accepted(id)
    } catch (error) {
      this.#dependencies.log.error({ execution_id: id, error: messageOf(error) }, 'a caller of an execution failed')
    }
  }

  async cancel (id: string, signal: CancelSignal): Promise<Execution> {
    const active = this.#active.get(id)
    if (active === undefined) return await this.#others.cancel(id, signal)
    end(active, 'cancel')
    return cancelled(await active.ended)
  }

  readonly secretsOf: SecretsOf = skill => this.#inputs.valuesOf(skill)

  /** Closes the records of executions whose process died, until the signal aborts. @returns their number */
  recover (signal: AbortSignal): Promise<number> {
    return this.#others.recover(signal)
  }

  /** Polls for cancel requests of other processes, until the returned function is called. */
  watchCancelRequests (): () => void {
    return this.#others.watchCancelRequests(id => {
      const active = this.#active.getSaved(id)
      if (active !== undefined) end(active, 'cancel')
    })
  }

  /**
   * Accepts no new executions, waits up to `drain_ms` for the running executions, and then interrupts them. Resolves
   * when all executions have ended.
   */
  async drain (drain_ms: number): Promise<void> {
    const { storage, log } = this.#dependencies
    this.#stopping = true
    await within(drain_ms, this.#active.allEnded())
    for (const active of this.#active.all()) end(active, 'interrupt')
    await within(stragglers_ms, this.#active.allEnded())
    // Executions with a final state only wait for their commit.
    const stragglers = this.#active.all().filter(({ execution }) => !isFinal(execution.status))
    for (const active of stragglers) {
      log.error({ execution_id: active.execution.id }, 'an executor did not end an aborted run')
      this.#fail(active, 'INTERRUPTED', ERRORS.INTERRUPTED.meaning, {}, 'interrupt')
      storage.save({ execution: active.execution, owner: null })
    }
    if (stragglers.length > 0) await storage.commit()
  }

  /** The executor of a job. @throws SkilletError when the job can't run now, or can never run with its parameters */
  #executorOf (job: Job): Executor {
    const { config, executors } = this.#dependencies
    if (this.#stopping) throw new SkilletError('OVERLOADED', 'The server is stopping and takes no new executions')
    if (this.#waiting >= config.execution.queue_max) {
      const waiting = `${this.#waiting} executions are waiting`
      throw new SkilletError('OVERLOADED', `${waiting}, as many as execution.queue_max allows; try again later`)
    }
    const runtime = runtimeOf(job.skill, job.tool)
    const executor = executors.get(runtime)
    if (executor === undefined) {
      throw new SkilletError('OVERLOADED', `No executor for the runtime "${runtime}" is running`, { runtime })
    }
    executor.check?.(job.tool, job.parameters)
    return executor
  }

  /** @param isKnown whether a client learns the id before the execution ends */
  #accept (job: Job, isKnown: boolean): ActiveExecution {
    const { storage, bus } = this.#dependencies
    const secrets = this.#inputs.secretsOf(job.skill)
    const redactor = redactorOf(job, secrets)
    storage.admit()
    const active = new ActiveExecution(recordOf(job, redactor), job, secrets, redactor, bus, this.#begin)
    this.#waiting++
    this.#active.add(active, isKnown)
    return active
  }

  /** @param leave callback: called when the execution has ended */
  async #perform (active: ActiveExecution, executor: Executor, leave: () => void): Promise<Execution> {
    const { config, log, storage } = this.#dependencies
    const { execution, redactor } = active
    try {
      const outcome = await this.#outcomeOf(active, executor)
      const { output, output_truncated } = outcome
      this.#conclude(active, outcome, redactor === undefined ? output : await redactor.output(output, output_truncated))
    } catch (error) {
      const fault = SkilletError.from(error)
      const text = active.clean(messageOf(fault.cause ?? fault))
      log.error({ execution_id: execution.id, error: text }, 'an execution could not be run')
      this.#fail(active, fault.code, fault.message, fault.details, 'fail')
    } finally {
      if (active.began_ms === undefined) this.#waiting--
    }
    try {
      storage.save({ execution, owner: null })
      if (config.storage.durability === 'committed') await storage.commit()
    } finally {
      this.#active.remove(active)
      leave()
    }
    return execution
  }

  #outcomeOf (active: ActiveExecution, executor: Executor): Outcome | Promise<Outcome> {
    const { execution, job, secrets } = active
    if (secrets?.refusal !== undefined) {
      return { status: 'failed', output: '', output_truncated: false, error: { message: secrets.refusal, details: {} } }
    }
    const task: Task = {
      execution_id: execution.id,
      skill: job.skill,
      tool: job.tool,
      parameters: job.parameters,
      timeout_ms: job.timeout_ms,
      config: this.#inputs.settingsOf(job.skill),
      ...(secrets !== undefined && { secrets: secrets.values })
    }
    return executor.run(task, active, active.abort)
  }

  readonly #begin = (active: ActiveExecution, isolation: Isolation, ago_ms: number): void => {
    const { execution } = active
    if (active.began_ms !== undefined || !move(execution, 'begin', this.#dependencies.bus, undefined, ago_ms)) return
    this.#waiting--
    active.began_ms = performance.now() - ago_ms
    execution.isolation = isolation
    execution.started_at = execution.transitions.at(-1)?.at ?? null
    this.#active.saveAgain(active)
  }

  /** Closes the record with the outcome of the run. @param output the output without secrets */
  #conclude (active: ActiveExecution, outcome: Outcome, output: string): void {
    const { execution, job } = active
    if (isFinal(execution.status)) return // `drain` has closed the record without the run
    execution.output = output
    execution.output_truncated = outcome.output_truncated
    if (active.began_ms === undefined && (outcome.status === 'success' || outcome.status === 'timeout')) {
      throw new Error(`the executor of ${execution.runtime} answered without having started`)
    }
    switch (outcome.status) {
      case 'success':
        move(execution, 'succeed', this.#dependencies.bus, active.began_ms)
        break
      case 'failed':
        return this.#fail(active, 'TOOL_EXECUTION_FAILED', outcome.error.message, outcome.error.details, 'fail')
      case 'timeout': {
        const message = `${job.skill.name}:${job.tool.name} went past its time limit of ${job.timeout_ms} ms`
        return this.#fail(active, 'TIMEOUT', message, { timeout_ms: job.timeout_ms }, 'expire')
      }
      case 'cancelled': {
        const code = active.ending === 'interrupt' ? 'INTERRUPTED' : 'CANCELLED'
        return this.#fail(active, code, ERRORS[code].meaning, {}, active.ending)
      }
    }
  }

  #fail (
    active: ActiveExecution, code: ErrorCode, message: string, details: JsonObject, event: ExecutionEvent['type']
  ): void {
    const { execution, job, redactor } = active
    if (isFinal(execution.status)) return
    const redacted = redactor === undefined ? { message, details } : redactor.failure(message, details)
    const of = { skill: job.skill.name, tool: job.tool.name, execution_id: execution.id }
    execution.error = { code, message: redacted.message, details: { ...of, ...redacted.details } }
    move(execution, event, this.#dependencies.bus, active.began_ms)
  }
}

/** Aborts a run: the executor receives the abort signal and answers. Only the first reason counts. */
function end (active: ActiveExecution, ending: Ending): void {
  if (active.abort.aborted) return
  active.ending = ending
  active.abort.abort()
}
