import type { Bus } from '../contracts/bus.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Storage, StoredExecution, UnfinishedExecution } from '../contracts/storage.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { SkilletError } from '../lib/errors.ts'
import type { Processes, ProcessIdentity } from '../lib/process-identity.ts'
import type { ActiveExecutions } from './active-executions.ts'
import { executionNotFound, interrupted, publish } from './record.ts'
import { isFinal } from './transitions.ts'

/** Interval of the poll for cancel requests of other processes, in milliseconds. */
const cancelPoll_ms = 100
/** How long `cancel` waits until another process ends its run, in milliseconds. */
const cancelRemote_ms = 10_000
/** Number of executions of dead processes that are closed before the abort signal is checked again. */
const recoverSlice = 2_048

/** Recovery and cancellation across the processes that share a storage. */
export class OtherProcesses {
  readonly #storage: Storage
  readonly #active: ActiveExecutions
  readonly #bus: Bus
  readonly #processes: Processes

  constructor (storage: Storage, active: ActiveExecutions, bus: Bus, processes: Processes) {
    this.#storage = storage
    this.#active = active
    this.#bus = bus
    this.#processes = processes
  }

  /**
   * Cancels an execution of another process and waits for its end. When that process has died, the record of the
   * execution is closed.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when the execution ended with another status
   */
  async cancel (id: string, signal: CancelSignal): Promise<Execution> {
    let stored = await this.#find(id)
    if (stored.owner === null || isFinal(stored.execution.status)) throw conflict(stored.execution)
    if (this.#processes.isAlive(stored.owner)) await this.#storage.requestCancel(id)
    else await this.#interrupt([{ id, owner: stored.owner }])
    stored = await this.#find(id)
    const until_ms = performance.now() + cancelRemote_ms
    while (!isFinal(stored.execution.status) && !signal.aborted && performance.now() < until_ms) {
      await new Promise(resolve => setTimeout(resolve, cancelPoll_ms / 2))
      stored = await this.#find(id)
    }
    return isFinal(stored.execution.status) ? cancelled(stored.execution) : stored.execution
  }

  /** Closes the records of executions whose process died, until the signal aborts. @returns their number */
  async recover (signal: AbortSignal): Promise<number> {
    const abandoned = (await this.#storage.unfinished()).filter(isOfDeadProcess(this.#processes))
    let closed = 0
    for (let from = 0; from < abandoned.length && !signal.aborted; from += recoverSlice) {
      closed += await this.#interrupt(abandoned.slice(from, from + recoverSlice))
    }
    return closed
  }

  /** Polls for cancel requests of other processes, until the returned function is called. */
  watchCancelRequests (cancel: (id: string) => void): () => void {
    const timer = setInterval(() => {
      if (!this.#active.anySaved) return
      for (const id of this.#storage.cancelRequests()) cancel(id)
    }, cancelPoll_ms).unref()
    return () => { clearInterval(timer) }
  }

  /**
   * Closes the records of executions whose process died, if they are still unfinished. A record can have an owner and a
   * final state: a commit that takes several transactions writes an execution that was saved twice in its newest state,
   * and first with its owner. When the process dies between them, the final state counts.
   * @returns the number of closed records
   */
  async #interrupt (abandoned: readonly UnfinishedExecution[]): Promise<number> {
    const closed = new Map<string, Execution>()
    const ids = await this.#storage.endUnfinished(abandoned, execution => {
      if (isFinal(execution.status)) return execution
      const final = interrupted(execution)
      // Only the fields that the bus needs: the complete records would take too much memory.
      closed.set(final.id, { ...final, parameters: {}, output: '' })
      return final
    })
    const executions = ids.flatMap(id => closed.get(id) ?? [])
    for (const execution of executions) publish(execution, this.#bus)
    return executions.length
  }

  async #find (id: string): Promise<StoredExecution> {
    const stored = await this.#storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    return stored
  }
}

/** Returns a record with the status `cancelled`. @throws SkilletError CONFLICT when it has another status */
export function cancelled (execution: Execution): Execution {
  if (execution.status !== 'cancelled') throw conflict(execution)
  return execution
}

function conflict ({ id, status }: Execution): SkilletError {
  return new SkilletError('CONFLICT', `The execution has already ended: ${status}`, { execution_id: id, status })
}

/**
 * Returns a filter for executions of dead processes. The filter checks each process only once, because a check reads a
 * file or starts a command.
 */
function isOfDeadProcess (processes: Processes): (unfinished: { owner: ProcessIdentity }) => boolean {
  const aliveByOwner = new Map<string, boolean>()
  return ({ owner }) => {
    const key = `${owner.pid} ${owner.started}`
    let lives = aliveByOwner.get(key)
    if (lives === undefined) aliveByOwner.set(key, lives = processes.isAlive(owner))
    return !lives
  }
}
