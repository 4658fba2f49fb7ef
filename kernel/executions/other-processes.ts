import type { Bus } from '../contracts/bus.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Storage, StoredExecution, UnfinishedExecution } from '../contracts/storage.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { ERRORS, SkilletError } from '../lib/errors.ts'
import type { Processes, ProcessIdentity } from '../lib/process-identity.ts'
import type { ActiveExecutions } from './active-executions.ts'
import { abandoned, canStart, ended, executionNotFound, publish } from './record.ts'
import { isFinal } from './transitions.ts'

/** Interval of the poll for cancel requests of other processes, in milliseconds. */
const cancelPoll_ms = 100
/** How long `cancel` waits until another process ends its run, in milliseconds. */
const cancelRemote_ms = 10_000
/** Number of executions of dead processes that are closed before the abort signal is checked again. */
const recoverSlice = 2_048

/** The owner of an execution that waits for any process which starts it: no process has this identity. */
export const nobody: ProcessIdentity = { pid: 0, started: 'nobody' }

/** How a process starts executions that others left. */
export interface Adopt {
  /** How many executions it can take. */
  room (): number
  start (execution: Execution): void
}

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
    else await this.#cancelAbandoned({ id, owner: stored.owner })
    stored = await this.#find(id)
    const until_ms = performance.now() + cancelRemote_ms
    while (!isFinal(stored.execution.status) && !signal.aborted && performance.now() < until_ms) {
      await new Promise(resolve => setTimeout(resolve, cancelPoll_ms / 2))
      stored = await this.#find(id)
    }
    return isFinal(stored.execution.status) ? cancelled(stored.execution) : stored.execution
  }

  /**
   * Closes the records of executions whose process died, until the signal aborts. Those that wait and have surely not
   * begun are left, for a process that can start them.
   * @param adopt starts them, when this process can
   * @returns how many it closed
   */
  async recover (signal: AbortSignal, adopt: Adopt | undefined): Promise<number> {
    const left = (await this.#storage.unfinished()).filter(isOfDeadProcess(this.#processes))
    let closed = 0
    for (let from = 0; from < left.length && !signal.aborted; from += recoverSlice) {
      const slice = left.slice(from, from + recoverSlice)
      if (adopt !== undefined) await this.#adopt(slice, adopt)
      closed += await this.#close(slice)
    }
    return closed
  }

  /**
   * Makes an execution that waits in the storage, of no living process, one of this process.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when it does not wait there, or another process took it
   */
  async take (id: string): Promise<Execution> {
    const { execution, owner } = await this.#find(id)
    const [taken] = owner === null || this.#processes.isAlive(owner)
      ? []
      : await this.#storage.takeOver([{ id, owner }], this.#processes.thisProcess(), canStart)
    if (taken !== undefined) return taken
    const details = { execution_id: id, status: execution.status }
    throw new SkilletError('CONFLICT', 'The execution does not wait for a process that starts it', details)
  }

  async #adopt (left: readonly UnfinishedExecution[], { room, start }: Adopt): Promise<void> {
    let places = room()
    if (places <= 0) return
    const mayTake = (execution: Execution): boolean => canStart(execution) && places-- > 0
    for (const execution of await this.#storage.takeOver(left, this.#processes.thisProcess(), mayTake)) start(execution)
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
  async #close (left: readonly UnfinishedExecution[]): Promise<number> {
    const closed = new Map<string, Execution>()
    const ids = await this.#storage.endUnfinished(left, execution => {
      if (isFinal(execution.status)) return execution
      if (canStart(execution)) return undefined
      const final = abandoned(execution)
      // Only the fields that the bus needs: the complete records would take too much memory.
      closed.set(final.id, { ...final, parameters: {}, output: '' })
      return final
    })
    const executions = ids.flatMap(id => closed.get(id) ?? [])
    for (const execution of executions) publish(execution, this.#bus)
    return executions.length
  }

  /** Cancels an execution of a dead process that waits; closes it when it may have begun. */
  async #cancelAbandoned (left: UnfinishedExecution): Promise<void> {
    let cancelled: Execution | undefined
    const [id] = await this.#storage.endUnfinished([left], execution => {
      if (!canStart(execution)) return undefined
      return cancelled = ended(execution, 'cancel', 'CANCELLED', ERRORS.CANCELLED.meaning)
    })
    if (id === undefined) await this.#close([left])
    else if (cancelled !== undefined) publish(cancelled, this.#bus)
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
