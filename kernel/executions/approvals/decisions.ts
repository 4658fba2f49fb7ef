import { pendingApproval, type Decision } from '../../contracts/approval.ts'
import type { Bus } from '../../contracts/bus.ts'
import type { Execution } from '../../contracts/schemas.ts'
import type { Storage, StoredExecution, UnfinishedExecution } from '../../contracts/storage.ts'
import type { CancelSignal } from '../../lib/cancel.ts'
import { SkilletError } from '../../lib/errors.ts'
import type { Processes } from '../../lib/process-identity.ts'
import { nobody } from '../other-processes.ts'
import { canStart, ended, executionNotFound, publish } from '../record.ts'
import { isFinal, nextStatus } from '../transitions.ts'
import { answerRequest, deniedMessage, extendQueue, requestFor } from './request.ts'

/** How long the process of an execution may take to obey a decision, and how often that is looked at, in ms. */
const effect_ms = { max: 10_000, look: 50 }

/**
 * A process that decides on an execution of another process holds a role of this name, with the decision as its note,
 * until the other process has taken it.
 */
const roleOf = (id: string): string => `decide on ${id}`

/** The decision that another process has made on an execution of this process. */
export async function readDecision (storage: Pick<Storage, 'holder'>, id: string): Promise<Decision | undefined> {
  const lease = await storage.holder(roleOf(id))
  return lease === undefined ? undefined : JSON.parse(lease.note) as Decision // written below
}

/** Decisions on executions of other processes that share the storage. */
export class Decisions {
  readonly #storage: Storage
  readonly #bus: Bus
  readonly #processes: Processes

  constructor (storage: Storage, bus: Bus, processes: Processes) {
    this.#storage = storage
    this.#bus = bus
    this.#processes = processes
  }

  /** @throws SkilletError as `Runner.decide` */
  async decide (id: string, decision: Decision, signal: CancelSignal): Promise<Execution> {
    const { execution, owner } = await this.#find(id)
    requestFor(execution, decision)
    if (owner === null) throw new SkilletError('CONFLICT', 'The execution has no process', { execution_id: id })
    if (!this.#processes.isAlive(owner)) return await this.#decideAbandoned({ id, owner }, decision)
    const role = roleOf(id)
    const claim = { owner: this.#processes.thisProcess(), note: JSON.stringify(decision) }
    const other = await this.#storage.claim(role, claim, owner => this.#processes.isAlive(owner))
    if (other !== undefined) {
      throw new SkilletError('CONFLICT', 'Somebody else decides on the execution just now', { execution_id: id })
    }
    try {
      return await this.#effectOf(id, decision, signal)
    } finally {
      await this.#storage.release(role, claim.owner)
    }
  }

  /** Waits until the process of the execution has taken a decision. */
  async #effectOf (id: string, decision: Decision, signal: CancelSignal): Promise<Execution> {
    const until_ms = performance.now() + effect_ms.max
    while (!signal.aborted && performance.now() < until_ms) {
      const { execution } = await this.#find(id)
      const request = execution.approvals?.find(({ digest }) => digest === decision.digest)
      const isOurs = request?.decision === decision.decision && request.decided_by === decision.by
      // A denied execution ends; its end is stored a little later than the decision.
      if (isOurs && (decision.decision === 'approved' || isFinal(execution.status))) return execution
      if (!isOurs) requestFor(execution, decision)
      await new Promise(resolve => setTimeout(resolve, effect_ms.look))
    }
    const message = `The process of the execution did not take the decision within ${effect_ms.max / 1_000} s`
    throw new SkilletError('OVERLOADED', message, { execution_id: id })
  }

  /** Decides on an execution that waits in the storage for a process which starts it. */
  async #decideAbandoned (left: UnfinishedExecution, decision: Decision): Promise<Execution> {
    const fits = (execution: Execution): boolean =>
      canStart(execution) && pendingApproval(execution)?.digest === decision.digest
    const owner = this.#processes.thisProcess()
    const [taken] = await this.#storage.takeOver([left], owner, fits)
    if (taken === undefined) {
      requestFor((await this.#find(left.id)).execution, decision)
      const message = 'The process of the execution has ended, and no other one can run it'
      throw new SkilletError('CONFLICT', message, { execution_id: left.id })
    }
    const execution = decided(taken, decision)
    publish(execution, this.#bus)
    this.#storage.save({ execution, owner: isFinal(execution.status) ? null : nobody })
    await this.#storage.commit()
    return execution
  }

  async #find (id: string): Promise<StoredExecution> {
    const stored = await this.#storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    return stored
  }
}

/** The record of an execution, which no process has, after a decision. */
function decided (execution: Execution, decision: Decision): Execution {
  const request = requestFor(execution, decision)
  answerRequest(request, decision)
  if (decision.decision === 'denied') return ended(execution, 'deny', 'APPROVAL_DENIED', deniedMessage(request))
  extendQueue(execution, request)
  const status = nextStatus(execution.status, { type: 'approve' })
  const at = request.decided_at ?? execution.created_at
  return { ...execution, status, transitions: [...execution.transitions, { status, at }] }
}
