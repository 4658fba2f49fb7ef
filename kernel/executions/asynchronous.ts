import type { Bus } from '../contracts/bus.ts'
import type { Config } from '../contracts/config.ts'
import type { Executor } from '../contracts/executor.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Storage } from '../contracts/storage.ts'
import { delay } from '../lib/delay.ts'
import { isoTime, timerMax_ms, unixTime } from '../lib/time.ts'
import type { ActiveExecution } from './active-execution.ts'
import type { ActiveExecutions } from './active-executions.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { Concurrency } from './concurrency.ts'
import { fail, failEnding } from './conclude.ts'
import { expiredMessage } from './record.ts'
import { RunQueue } from './run-queue.ts'
import { isFinal } from './transitions.ts'

/** The shortest time between two looks for executions whose time in the queue is over, in milliseconds. */
const expiryLook_ms = 200
/** How long a failed commit is waited for before the next look, in milliseconds. The storage repeats it by itself. */
const commitRetry_ms = 500

interface Dependencies {
  config: Config
  storage: Storage
  bus: Bus
  active: ActiveExecutions
  approvals: Approvals
  concurrency: Concurrency
  /** Runs an execution to its end. */
  perform: (active: ActiveExecution, executor: Executor) => Promise<Execution>
}

/**
 * The asynchronous executions of this process that wait, and those that run. The storage has each of them as queued.
 * Before one is given to its executor, the storage has the time of that, too: after a crash, an execution without this
 * time has surely not begun and can be started by another process, and any other one may have begun.
 */
export class AsynchronousRuns {
  readonly #dependencies: Dependencies
  readonly #queue = new RunQueue()
  readonly #executors = new WeakMap<ActiveExecution, Executor>()
  #running = 0
  /** Whether nothing more is started from the queue. */
  isStopped = false
  #expiry: NodeJS.Timeout | undefined
  #expiry_ms = Number.POSITIVE_INFINITY

  constructor (dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** How many executions wait. */
  get waiting (): number {
    return this.#queue.size
  }

  /** Takes an execution that the storage has as queued. Its `ended` resolves when it has ended, or is left. */
  add (active: ActiveExecution, executor: Executor): void {
    active.ended.catch(() => {}) // perhaps nobody waits for it
    if (this.isStopped) return this.#leave(active)
    if (this.#dependencies.approvals.needs(active)) void this.#addApproved(active, executor)
    else this.#enqueue(active, executor)
  }

  /** Takes an execution when it is approved. Until then it takes no place of those that run. */
  async #addApproved (active: ActiveExecution, executor: Executor): Promise<void> {
    if (await this.#dependencies.approvals.approved(active)) return this.#enqueue(active, executor)
    if (isFinal(active.execution.status)) return this.#close(active)
    if (active.ending === 'interrupt') return this.#leave(active)
    failEnding(active, this.#dependencies.bus)
    this.#close(active)
  }

  #enqueue (active: ActiveExecution, executor: Executor): void {
    if (this.isStopped) return this.#leave(active)
    this.#queue.hold(active)
    this.#executors.set(active, executor)
    active.abort.addEventListener('abort', () => { this.#end(active) })
    if (active.abort.aborted) return this.#end(active)
    this.#dependencies.concurrency.enter(active, () => {
      this.#queue.release(active)
      this.#startNext()
    })
    if (active.list !== undefined) this.#expireAt(unixTime(active.execution.queue?.expires_at ?? ''))
  }

  /**
   * Starts nothing more. An execution that waits is left in the storage for the next process; where that can't start
   * it, it is interrupted.
   */
  stop (): void {
    this.isStopped = true
    clearTimeout(this.#expiry)
    for (const active of this.#queue.all()) {
      this.#queue.delete(active)
      this.#leave(active)
    }
  }

  /** Why an execution waits; undefined when it is not in the queue. */
  reasonOf (active: ActiveExecution): string | undefined {
    const held = this.#dependencies.concurrency.reasonOf(active)
    if (held !== undefined) return held
    const before = this.#queue.before(active)
    if (before === undefined) return undefined
    const { asynchronous_max } = this.#dependencies.config.execution
    const run = `${this.#running} asynchronous executions run, as many as execution.asynchronous_max allows`
    return this.#running >= asynchronous_max ? `${run}; ${before} start before this one` : 'It starts now'
  }

  #startNext (): void {
    const { asynchronous_max } = this.#dependencies.config.execution
    while (!this.isStopped && this.#running < asynchronous_max) {
      const active = this.#queue.shift()
      const executor = active === undefined ? undefined : this.#executors.get(active)
      if (active === undefined || executor === undefined) return
      this.#running++
      active.endBy(this.#run(active, executor)).catch(() => {}).finally(() => {
        this.#running--
        this.#startNext()
      })
    }
  }

  async #run (active: ActiveExecution, executor: Executor): Promise<Execution> {
    if (await this.#handOver(active)) return await this.#dependencies.perform(active, executor)
    failEnding(active, this.#dependencies.bus)
    return await this.#save(active)
  }

  /**
   * Stores the time at which an execution leaves the queue.
   * @returns true when it is on disk; false when the execution is to end before that
   */
  async #handOver (active: ActiveExecution): Promise<boolean> {
    const { execution: { queue }, abort } = active
    if (queue !== undefined) queue.handed_over_at = isoTime()
    this.#dependencies.active.saveAgain(active)
    while (!abort.aborted) {
      try {
        await this.#dependencies.storage.commit()
        return true
      } catch {
        await delay(commitRetry_ms, abort)
      }
    }
    return false
  }

  /** Ends an execution that waits, for the reason for which it was aborted. */
  #end (active: ActiveExecution): void {
    if (!this.#queue.delete(active)) return
    if (active.ending === 'interrupt') return this.#leave(active)
    failEnding(active, this.#dependencies.bus)
    this.#close(active)
  }

  /** Leaves an execution to the next process, or interrupts it where only this one could start it. */
  #leave (active: ActiveExecution): void {
    this.#dependencies.concurrency.leave(active)
    if (active.execution.queue?.resumable === true) {
      this.#dependencies.active.remove(active)
      void active.endBy(Promise.resolve(active.execution))
      return
    }
    active.ending = 'interrupt'
    failEnding(active, this.#dependencies.bus)
    this.#close(active)
  }

  /** Saves an execution that has ended without its executor. */
  async #save (active: ActiveExecution): Promise<Execution> {
    const { storage, active: all, concurrency } = this.#dependencies
    const { execution } = active
    concurrency.leave(active)
    storage.save({ execution, owner: null })
    try {
      await storage.commit()
    } finally {
      all.remove(active)
    }
    return execution
  }

  /** Ends an execution that waited: its record has a final state. */
  #close (active: ActiveExecution): void {
    active.endBy(this.#save(active)).catch(() => {})
  }

  /** Sets the timer for the earliest end of a time in the queue. */
  #expireAt (ms: number): void {
    if (this.isStopped || ms >= this.#expiry_ms) return
    clearTimeout(this.#expiry)
    this.#expiry_ms = ms
    const delay_ms = Math.min(Math.max(ms - Date.now(), expiryLook_ms), timerMax_ms)
    this.#expiry = setTimeout(() => { this.#expire() }, delay_ms).unref()
  }

  #expire (): void {
    this.#expiry_ms = Number.POSITIVE_INFINITY
    const now_ms = Date.now()
    let next_ms = Number.POSITIVE_INFINITY
    for (const active of this.#queue.all()) {
      const expires_ms = unixTime(active.execution.queue?.expires_at ?? '')
      if (expires_ms > now_ms) {
        next_ms = Math.min(next_ms, expires_ms)
        continue
      }
      if (!this.#queue.delete(active)) continue
      fail(active, 'TIMEOUT', expiredMessage, {}, 'expire', this.#dependencies.bus)
      this.#close(active)
    }
    if (next_ms < Number.POSITIVE_INFINITY) this.#expireAt(next_ms)
  }
}
