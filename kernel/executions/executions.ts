import type { Decision } from '../contracts/approval.ts'
import type { Executor, Outcome, SecretsOf } from '../contracts/executor.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Job, Once, QueueOptions, Runner } from '../contracts/services.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { ERRORS, messageOf, SkilletError } from '../lib/errors.ts'
import { machineProcesses } from '../lib/process-identity.ts'
import { within } from '../lib/within.ts'
import { ActiveExecution, type Reports } from './active-execution.ts'
import { ActiveExecutions } from './active-executions.ts'
import { Approvals } from './approvals/approvals.ts'
import { Decisions } from './approvals/decisions.ts'
import { attach } from './attach.ts'
import { Concurrency, ruleOf } from './concurrency.ts'
import { conclude, concludeLarge, fail } from './conclude.ts'
import type { Dependencies } from './dependencies.ts'
import { LaterRuns, type JobOf } from './later-runs.ts'
import { executorOf } from './executor-of.ts'
import { JournalBudget } from './live/journal.ts'
import { Live } from './live/live.ts'
import { cancelled, OtherProcesses } from './other-processes.ts'
import { move, recordOf, recordTransition } from './record.ts'
import { runTool } from './run-tool.ts'
import { redactorOf, SkillInputs } from './skill-inputs.ts'
import { isFinal } from './transitions.ts'

/** How long an aborted run may take to end, in milliseconds. After that its record is closed without the run. */
const stragglers_ms = 3_000

/** Runs executions. An execution has a state of the transition table, a run of an executor, and a stored record. */
export class Executions implements Runner {
  readonly #dependencies: Dependencies
  readonly #inputs: SkillInputs
  readonly #active: ActiveExecutions
  readonly #others: OtherProcesses
  readonly #concurrency: Concurrency
  readonly #later: LaterRuns
  readonly #approvals: Approvals
  readonly #decisions: Decisions
  readonly #journals = new JournalBudget()
  /** The events of executions while they last. */
  readonly live: Live
  #jobOf: JobOf | undefined
  #waiting = 0
  #stopping = false

  constructor (dependencies: Dependencies) {
    const { config, storage, secrets, private_paths, bus, processes = machineProcesses } = dependencies
    this.#dependencies = dependencies
    this.#inputs = new SkillInputs(config, secrets, private_paths)
    this.#active = new ActiveExecutions(storage, bus, processes)
    this.#others = new OtherProcesses(storage, this.#active, bus, processes)
    this.live = new Live(storage, this.#active)
    this.#approvals = new Approvals({ config, storage, bus, active: this.#active })
    this.#decisions = new Decisions(storage, bus, processes)
    this.#concurrency = new Concurrency({ config, bus, active: this.#active })
    this.#later = new LaterRuns({
      config, storage, bus, processes,
      active: this.#active, approvals: this.#approvals, concurrency: this.#concurrency,
      executorOf: (job, waiting) => executorOf(job, waiting, dependencies, this.#stopping),
      create: (job, execution) => this.#create(job, execution),
      begun: active => {
        this.live.begin(active)
        active.moved()
      },
      perform: (active, executor) => {
        this.#waiting++
        return this.#perform(active, executor, () => {})
      }
    })
  }

  run (job: Job, signal: CancelSignal, accepted?: (execution_id: string) => void): Promise<Execution> {
    this.#approvals.admit(job)
    const executor = executorOf(job, this.#waiting, this.#dependencies, this.#stopping)
    this.#concurrency.admit(job)
    const active = this.#accept(job, accepted !== undefined)
    const leave = attach(active, signal, accepted, this.#dependencies.log)
    recordTransition(active.execution, active.execution.created_at, this.#dependencies.bus)
    active.moved()
    return active.endBy(this.#perform(active, executor, leave))
  }

  async runOnce (
    job: Job, once: Once, signal: CancelSignal, accepted?: (execution_id: string) => void
  ): Promise<Execution> {
    const begun = (active: ActiveExecution): (() => void) =>
      attach(active, signal, accepted, this.#dependencies.log)
    return await this.#later.runOnce(job, once, signal, this.#waiting, begun)
  }

  submit (job: Job, options: QueueOptions, once?: Once): Promise<Execution> {
    return this.#later.submit(job, options, once)
  }

  async start (id: string, jobOf: JobOf): Promise<Execution> {
    return await this.#later.adopt(await this.#others.take(id), jobOf)
  }

  wait (id: string, wait_ms: number, signal: CancelSignal): Promise<Execution | undefined> {
    return this.#later.wait(id, wait_ms, signal)
  }

  reasonOf (id: string): string | undefined {
    return this.#later.reasonOf(id)
  }

  async cancel (id: string, signal: CancelSignal): Promise<Execution> {
    const active = this.#active.get(id)
    if (active === undefined) return await this.#others.cancel(id, signal)
    active.end('cancel')
    return cancelled(await active.ended)
  }

  async decide (id: string, decision: Decision, signal: CancelSignal): Promise<Execution> {
    const active = this.#active.get(id)
    if (active === undefined) return await this.#decisions.decide(id, decision, signal)
    return await this.#approvals.decide(active, decision)
  }

  readonly secretsOf: SecretsOf = skill => this.#inputs.valuesOf(skill)

  /** Lets `recover` also start executions that wait in the storage for a process. @param jobOf makes their jobs */
  adoptWith (jobOf: JobOf): void {
    this.#jobOf = jobOf
  }

  /** Closes the records of executions whose process died, until the signal aborts. @returns their number */
  recover (signal: AbortSignal): Promise<number> {
    const jobOf = this.#jobOf
    return this.#others.recover(signal, jobOf && {
      room: () => this.#later.room,
      start: execution => { this.#later.adopt(execution, jobOf).catch(() => {}) } // the storage says why
    })
  }

  /** Polls for cancel requests of other processes, until the returned function is called. */
  watchCancelRequests (): () => void {
    return this.#others.watchCancelRequests(id => { this.#active.getSaved(id)?.end('cancel') })
  }

  /**
   * Accepts no new executions, waits up to `drain_ms` for the running executions, and then interrupts them. Resolves
   * when all executions have ended.
   */
  async drain (drain_ms: number): Promise<void> {
    const { bus, storage, log } = this.#dependencies
    this.#stopping = true
    this.#later.stop()
    this.#approvals.stop()
    await within(drain_ms, this.#active.allEnded())
    for (const active of this.#active.all()) active.end('interrupt')
    await within(stragglers_ms, this.#active.allEnded())
    // Executions with a final state only wait for their commit.
    const stragglers = this.#active.all().filter(({ execution }) => !isFinal(execution.status))
    for (const active of stragglers) {
      log.error({ execution_id: active.execution.id }, 'an executor did not end an aborted run')
      fail(active, 'INTERRUPTED', ERRORS.INTERRUPTED.meaning, {}, 'interrupt', bus)
      storage.save({ execution: active.execution, owner: null })
    }
    if (stragglers.length > 0) await storage.commit()
    for (const active of stragglers) active.closeJournal()
    this.#later.close()
  }

  /** @param isKnown whether a client learns the id before the execution ends */
  #accept (job: Job, isKnown: boolean): ActiveExecution {
    const active = this.#create(job)
    this.#waiting++
    this.#active.add(active, isKnown || this.live.isWatched(job.skill.name, job.tool.name))
    this.live.begin(active)
    return active
  }

  /** @param execution the record, when it has one */
  #create (job: Job, execution?: Execution): ActiveExecution {
    const { storage, bus } = this.#dependencies
    const secrets = this.#inputs.secretsOf(job.skill)
    const redactor = redactorOf(job, secrets)
    if (execution === undefined) storage.admit()
    const record = execution ?? recordOf(job, redactor)
    const active = new ActiveExecution(record, job, secrets, redactor, bus, this.#journals, this.#reports)
    if (job.handles !== undefined) active.ended.then(job.handles.release, job.handles.release)
    return active
  }

  /** @param leave callback: called when the execution has ended */
  async #perform (active: ActiveExecution, executor: Executor, leave: () => void): Promise<Execution> {
    const { bus, config, files, log, storage } = this.#dependencies
    const { execution, redactor } = active
    try {
      const outcome = await this.#outcomeOf(active, executor)
      const { output, output_truncated } = outcome
      const shown = redactor === undefined ? output : await redactor.output(output, output_truncated)
      if (files?.overflows(shown) === true) await concludeLarge(active, outcome, shown, files, bus)
      else conclude(active, outcome, shown, bus)
    } catch (error) {
      const fault = SkilletError.from(error)
      const text = active.clean(messageOf(fault.cause ?? fault))
      log.error({ execution_id: execution.id, error: text }, 'an execution could not be run')
      fail(active, fault.code, fault.message, fault.details, 'fail', bus)
    } finally {
      if (active.began_ms === undefined) this.#waiting--
    }
    active.recordTimeline()
    try {
      storage.save({ execution, owner: null })
      if (config.storage.durability === 'committed') await storage.commit()
    } finally {
      this.#active.remove(active)
      active.closeJournal()
      leave()
    }
    return execution
  }

  #outcomeOf (active: ActiveExecution, executor: Executor): Outcome | Promise<Outcome> {
    const { execution, job, secrets } = active
    const isAsked = execution.queue === undefined && secrets?.refusal === undefined && this.#approvals.asks(job)
    return isAsked ? this.#runApproved(active, executor) : this.#run(active, executor)
  }

  #run (active: ActiveExecution, executor: Executor): Outcome | Promise<Outcome> {
    if (ruleOf(active.job) === undefined) return runTool(active, executor, this.#inputs, this.#active)
    return this.#concurrency.run(active, () => runTool(active, executor, this.#inputs, this.#active))
  }

  /** While it waits for an approval, an execution is none of those that wait for their executor. */
  async #runApproved (active: ActiveExecution, executor: Executor): Promise<Outcome> {
    this.#waiting--
    const isApproved = await this.#approvals.approved(active).finally(() => { this.#waiting++ })
    if (isApproved) return await this.#run(active, executor)
    this.#concurrency.leave(active)
    return { status: 'cancelled', output: '', output_truncated: false }
  }

  readonly #reports: Reports = {
    began: (active, isolation, ago_ms) => {
      const { execution } = active
      if (active.began_ms !== undefined || !move(execution, 'begin', this.#dependencies.bus, undefined, ago_ms)) return
      this.#waiting--
      active.began_ms = performance.now() - ago_ms
      execution.isolation = isolation
      execution.started_at = execution.transitions.at(-1)?.at ?? null
      this.#active.saveAgain(active)
      active.moved()
    },
    approve: (active, preview) => this.#approvals.approve(active, preview)
  }
}
