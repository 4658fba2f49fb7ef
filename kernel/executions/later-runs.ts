import type { Bus } from '../contracts/bus.ts'
import type { Config } from '../contracts/config.ts'
import type { Executor } from '../contracts/executor.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Job, Once, QueueOptions } from '../contracts/services.ts'
import type { KeyedExecution, Storage } from '../contracts/storage.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { SkilletError } from '../lib/errors.ts'
import type { Processes, ProcessIdentity } from '../lib/process-identity.ts'
import type { ActiveExecution } from './active-execution.ts'
import type { ActiveExecutions } from './active-executions.ts'
import type { Approvals } from './approvals/approvals.ts'
import { AsynchronousRuns } from './asynchronous.ts'
import type { Concurrency } from './concurrency.ts'
import { fail } from './conclude.ts'
import { otherRequest } from './once.ts'
import { nobody } from './other-processes.ts'
import { ended, executionNotFound, publish, queuedRun } from './record.ts'
import { isFinal } from './transitions.ts'
import { Waiting } from './waiting.ts'

/** What the runner of executions does for these runs. */
export interface RunParts {
  config: Config
  storage: Storage
  bus: Bus
  active: ActiveExecutions
  concurrency: Concurrency
  processes: Processes
  approvals: Approvals
  /** The executor of a job. @param waiting how many executions wait already @throws SkilletError */
  executorOf (job: Job, waiting: number): Executor
  /**
   * Makes an execution of a job, if the storage admits it.
   * @param execution its record, when it has one
   * @throws SkilletError
   */
  create (job: Job, execution?: Execution): ActiveExecution
  /** Shows readers of live events an execution that is in the storage. */
  begun (active: ActiveExecution): void
  /** Runs an execution to its end. */
  perform (active: ActiveExecution, executor: Executor): Promise<Execution>
}

/** Makes the job of a record. @throws SkilletError when it can't be run any longer */
export type JobOf = (execution: Execution) => Job | Promise<Job>

/** How long a call with a known key waits for its execution before it looks again, in milliseconds. */
const look_ms = 60_000

/** Executions that are in the storage before they run: asynchronous ones, and those with an idempotency key. */
export class LaterRuns {
  readonly #parts: RunParts
  readonly #asynchronous: AsynchronousRuns
  readonly #waits: Waiting

  constructor (parts: RunParts) {
    this.#parts = parts
    this.#asynchronous = new AsynchronousRuns(parts)
    this.#waits = new Waiting(parts.storage, parts.active)
  }

  async submit (job: Job, options: QueueOptions, once: Once | undefined): Promise<Execution> {
    const { bus, active: all, approvals, concurrency } = this.#parts
    approvals.admit(job)
    const executor = this.#parts.executorOf(job, this.#asynchronous.waiting)
    const active = this.#create(job, once)
    const { execution } = active
    const queue = execution.queue = queuedRun(execution, job, options)
    if (options.elsewhere === true && !queue.resumable) {
      const why = 'Its parameters have secrets, which are stored nowhere, so no other process can run it'
      throw new SkilletError('INVALID_PARAMETERS', `${why}; run it without waiting in the queue`)
    }
    const owner = options.elsewhere === true ? nobody : this.#parts.processes.thisProcess()
    const other = await this.#store(active, owner, once)
    if (other !== undefined) return await this.#find(other)
    if (isFinal(execution.status)) return await this.#closeLate(active)
    publish(execution, bus)
    this.#parts.begun(active)
    if (options.elsewhere === true) {
      concurrency.leave(active)
      all.remove(active)
      active.closeJournal()
    } else this.#asynchronous.add(active, executor)
    return execution
  }

  async runOnce (
    job: Job, once: Once, signal: CancelSignal, waiting: number, begun: (active: ActiveExecution) => () => void
  ): Promise<Execution> {
    this.#parts.approvals.admit(job)
    const executor = this.#parts.executorOf(job, waiting)
    const active = this.#create(job, once)
    const other = await this.#store(active, this.#parts.processes.thisProcess(), once)
    if (other !== undefined) return await this.#endOf(other, signal)
    if (isFinal(active.execution.status)) return await this.#closeLate(active)
    const leave = begun(active)
    publish(active.execution, this.#parts.bus)
    this.#parts.begun(active)
    return await active.endBy(this.#parts.perform(active, executor).finally(leave))
  }

  /** Starts an execution that this process took from the storage. @returns its record at its end */
  async adopt (execution: Execution, jobOf: JobOf): Promise<Execution> {
    const { storage, bus, active: all } = this.#parts
    if (this.#asynchronous.isStopped) return execution // it stays in the storage for the next process
    let job: Job | undefined
    try {
      const made = jobOf(execution)
      job = made instanceof Promise ? await made : made
      if (this.#asynchronous.isStopped) {
        job.handles?.release()
        return execution
      }
      const executor = this.#parts.executorOf(job, 0)
      const active = this.#parts.create(job, execution)
      all.addSaved(active)
      this.#parts.begun(active)
      this.#asynchronous.add(active, executor)
      return await active.ended
    } catch (error) {
      job?.handles?.release()
      if (isFinal(execution.status)) throw error
      const { code, message } = SkilletError.from(error)
      const final = ended(execution, 'fail', code, message)
      publish(final, bus)
      storage.save({ execution: final, owner: null })
      await storage.commit()
      return final
    }
  }

  /** How many further executions this process can take. */
  get room (): number {
    return this.#asynchronous.isStopped ? 0 : this.#parts.config.execution.queue_max - this.#asynchronous.waiting
  }

  async wait (id: string, wait_ms: number, signal: CancelSignal): Promise<Execution | undefined> {
    return await this.#waits.wait(id, wait_ms, signal)
  }

  reasonOf (id: string): string | undefined {
    const active = this.#parts.active.get(id)
    return active === undefined ? undefined : this.#asynchronous.reasonOf(active)
  }

  /** Starts nothing more from the queue. */
  stop (): void {
    this.#asynchronous.stop()
  }

  /** Ends all waits. */
  close (): void {
    this.#waits.close()
  }

  #create (job: Job, once: Once | undefined): ActiveExecution {
    const { concurrency } = this.#parts
    concurrency.admit(job, once)
    const active = this.#parts.create(job)
    concurrency.reserve(active, once)
    const { execution } = active
    execution.transitions.push({ status: execution.status, at: execution.created_at })
    return active
  }

  /**
   * Stores an execution. Resolves when it is on disk.
   * @returns what the key stands for already: the execution is then not stored
   * @throws SkilletError CONFLICT when the key stands for another request, or the storage's; it does not run then
   */
  async #store (
    active: ActiveExecution, owner: ProcessIdentity, once: Once | undefined
  ): Promise<KeyedExecution | undefined> {
    const { storage, active: all, concurrency } = this.#parts
    const { execution } = active
    const stored = { execution, owner }
    const forget = (): void => {
      concurrency.leave(active)
      all.remove(active)
      active.closeJournal()
      active.endBy(Promise.resolve(execution)).catch(() => {})
    }
    all.addSaved(active)
    try {
      if (once === undefined) {
        storage.save(stored)
        await storage.commit()
        return undefined
      }
      const { fingerprint, expires_ms } = once
      const other = await storage.saveOnce(once.key, { execution_id: execution.id, fingerprint, expires_ms }, stored)
      if (other === undefined) return undefined
      if (other.fingerprint !== fingerprint) throw otherRequest(other.execution_id)
      forget()
      return other
    } catch (error) {
      if (once === undefined) this.#closeUnstored(active, error)
      forget()
      throw error
    }
  }

  /** Closes an execution whose first state could not be stored. The storage goes on trying; the last state counts. */
  #closeUnstored (active: ActiveExecution, error: unknown): void {
    const { storage, bus } = this.#parts
    const { execution } = active
    if (!isFinal(execution.status)) { // else a drain has closed it
      const { code, message } = SkilletError.from(error)
      publish(execution, bus)
      fail(active, code, `It was not run: ${message}`, {}, 'fail', bus)
    }
    storage.save({ execution, owner: null })
  }

  /** Saves the end of an execution that a drain has closed while its first state was written. @returns its record */
  async #closeLate (active: ActiveExecution): Promise<Execution> {
    const { storage, active: all, concurrency } = this.#parts
    const { execution } = active
    concurrency.leave(active)
    storage.save({ execution, owner: null })
    const ended = storage.commit().then(() => execution)
    all.remove(active)
    active.closeJournal()
    return await active.endBy(ended)
  }

  async #find ({ execution_id }: KeyedExecution): Promise<Execution> {
    const stored = await this.#parts.storage.get(execution_id)
    if (stored === undefined) throw executionNotFound(execution_id)
    return stored.execution
  }

  async #endOf (keyed: KeyedExecution, signal: CancelSignal): Promise<Execution> {
    const { config, storage } = this.#parts
    for (;;) {
      const execution = await this.#find(keyed)
      if (isFinal(execution.status)) {
        if (config.storage.durability === 'committed') await storage.commit()
        return execution
      }
      const details = { execution_id: execution.id }
      if (signal.aborted) throw new SkilletError('CANCELLED', 'The call ended before the execution', details)
      if (this.#asynchronous.isStopped) {
        throw new SkilletError('OVERLOADED', 'The server is stopping; the execution goes on elsewhere', details)
      }
      await this.#waits.wait(execution.id, look_ms, signal)
    }
  }
}
