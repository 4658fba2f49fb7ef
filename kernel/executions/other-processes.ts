import type { Bus } from '../contracts/bus.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Storage, StoredExecution, UnfinishedExecution } from '../contracts/storage.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { SkilletError } from '../lib/errors.ts'
import { isAlive, type ProcessIdentity } from '../lib/process-identity.ts'
import type { ActiveExecutions } from './active-executions.ts'
import { executionNotFound, interrupted, publish } from './record.ts'
import { isFinal } from './transitions.ts'

/** How often requests of other processes to cancel are looked for. */
const cancelPoll_ms = 100
/** How long `cancel` waits for another process to end its run. */
const cancelRemote_ms = 10_000
/** Executions of dead processes that are closed before it is asked again whether to go on. */
const recoverSlice = 2_048

/** Recovery and cancellation across the processes that share a storage. */
export class OtherProcesses {
  readonly #storage: Storage
  readonly #active: ActiveExecutions
  readonly #bus: Bus

  constructor (storage: Storage, active: ActiveExecutions, bus: Bus) {
    this.#storage = storage
    this.#active = active
    this.#bus = bus
  }

  /**
   * Cancels an execution that is not this process's, and waits for its end; of a process that died, it is closed.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when it ended otherwise
   */
  async cancel (id: string, signal: CancelSignal): Promise<Execution> {
    let stored = await this.#find(id)
    if (stored.owner === null || isFinal(stored.execution.status)) throw conflict(stored.execution)
    if (isAlive(stored.owner)) await this.#storage.requestCancel(id)
    else await this.#interrupt([{ id, owner: stored.owner }])
    stored = await this.#find(id)
    const until_ms = performance.now() + cancelRemote_ms
    while (!isFinal(stored.execution.status) && !signal.aborted && performance.now() < until_ms) {
      await new Promise(resolve => setTimeout(resolve, cancelPoll_ms / 2))
      stored = await this.#find(id)
    }
    return isFinal(stored.execution.status) ? cancelled(stored.execution) : stored.execution
  }

  /** Closes the records of executions whose process died, until the signal aborts. @returns how many */
  async recover (signal: AbortSignal): Promise<number> {
    const abandoned = (await this.#storage.unfinished()).filter(isOfDeadProcess())
    let closed = 0
    for (let from = 0; from < abandoned.length && !signal.aborted; from += recoverSlice) {
      closed += await this.#interrupt(abandoned.slice(from, from + recoverSlice))
    }
    return closed
  }

  /** Keeps looking for requests of other processes to cancel, until the returned function is called. */
  watchCancelRequests (cancel: (id: string) => void): () => void {
    const timer = setInterval(() => {
      if (!this.#active.anySaved) return
      for (const id of this.#storage.cancelRequests()) cancel(id)
    }, cancelPoll_ms).unref()
    return () => { clearInterval(timer) }
  }

  /** Closes the records of executions that no process works on any more, where that is still so. @returns how many */
  async #interrupt (abandoned: readonly UnfinishedExecution[]): Promise<number> {
    const closed = new Map<string, Execution>()
    const ids = await this.#storage.endUnfinished(abandoned, execution => {
      const final = interrupted(execution)
      // Only what the bus needs: all that the records hold would be too much to keep.
      closed.set(final.id, { ...final, parameters: {}, output: '' })
      return final
    })
    for (const id of ids) {
      const execution = closed.get(id)
      if (execution !== undefined) publish(execution, this.#bus)
    }
    return ids.length
  }

  async #find (id: string): Promise<StoredExecution> {
    const stored = await this.#storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    return stored
  }
}

/** A record that ended as cancelled. @throws SkilletError CONFLICT when it ended otherwise */
export function cancelled (execution: Execution): Execution {
  if (execution.status !== 'cancelled') throw conflict(execution)
  return execution
}

function conflict ({ id, status }: Execution): SkilletError {
  return new SkilletError('CONFLICT', `The execution has already ended: ${status}`, { execution_id: id, status })
}

/**
 * Finds what belongs to processes that live no more. Each process is asked for once: that reads a file, or starts a
 * command.
 */
function isOfDeadProcess (): (unfinished: { owner: ProcessIdentity }) => boolean {
  const known = new Map<string, boolean>()
  return ({ owner }) => {
    const key = `${owner.pid} ${owner.started}`
    let lives = known.get(key)
    if (lives === undefined) known.set(key, lives = isAlive(owner))
    return !lives
  }
}
