import { pendingApproval, type Approval, type Decision } from '../../contracts/approval.ts'
import type { Bus } from '../../contracts/bus.ts'
import type { Config } from '../../contracts/config.ts'
import type { Execution } from '../../contracts/schemas.ts'
import type { Job } from '../../contracts/services.ts'
import type { Storage } from '../../contracts/storage.ts'
import { SkilletError } from '../../lib/errors.ts'
import type { ActiveExecution } from '../active-execution.ts'
import type { ActiveExecutions } from '../active-executions.ts'
import { fail } from '../conclude.ts'
import { move } from '../record.ts'
import { askCaller } from './ask-caller.ts'
import { readDecision } from './decisions.ts'
import {
  addRequest, answerRequest, deniedMessage, expiryOf, extendQueue, isApproved, isExpired, requestFor
} from './request.ts'
import { previewOf } from './preview.ts'
import { compileRules, type Rules, type Verdict } from './rules.ts'

/** Interval of the look for requests that expired, and for decisions of other processes, in milliseconds. */
const tick_ms = 100
/** How many approvals an execution may ask for. */
const requestsMax = 64
/** How many decisions of other processes are looked for in a tick. */
const readsPerTick = 32

/** What is said of a tool that asks by itself, where no rule fits. */
const toolAsks: Verdict = { action: 'ask', reason: 'the tool asks' }

interface Dependencies { config: Config, storage: Storage, bus: Bus, active: ActiveExecutions }

/** A request that waits. `settle` ends its wait: with true, the tool may run. */
interface Waiting { readonly request: Approval, settle (approved: boolean): void }

/** The executions of this process that wait until a person approves or denies them. */
export class Approvals {
  readonly #dependencies: Dependencies
  /** Undefined without rules: then calls are not compared with anything. */
  readonly #rules: Rules | undefined
  readonly #waiting = new Map<ActiveExecution, Waiting>()
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  #isStopped = false

  constructor (dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#rules = compileRules(dependencies.config.approvals.rules)
  }

  /** @throws SkilletError APPROVAL_DENIED when a rule denies the call; OVERLOADED when too many wait already */
  admit (job: Job): void {
    const verdict = this.#verdict(job)
    if (verdict === undefined || verdict.action === 'allow') return
    if (verdict.action === 'ask') return this.#checkRoom()
    const [skill, tool] = [job.skill.name, job.tool.name]
    const message = `${skill}:${tool} may not run with these parameters: ${verdict.reason} in skillet.toml denies it`
    throw new SkilletError('APPROVAL_DENIED', message, { skill, tool })
  }

  /** Whether a person has to approve the call before its tool begins. */
  asks (job: Job): boolean {
    return this.#verdict(job)?.action === 'ask'
  }

  /** Whether an execution, which perhaps waited in another process, must still be approved. */
  needs ({ execution, job }: ActiveExecution): boolean {
    return execution.status === 'waiting' || (this.asks(job) && !isApproved(execution))
  }

  /**
   * Waits until an execution is approved.
   * @returns false when it must not run: its record has ended as denied, or its run was aborted
   */
  async approved (active: ActiveExecution, preview?: string): Promise<boolean> {
    const request = pendingApproval(active.execution) ?? this.#ask(active, preview)
    const { expires_at } = request
    active.log('info', `It waits for an approval until ${expires_at}: skillet approve ${active.execution.id}`)
    const began_ms = performance.now()
    const isApproved = await this.#wait(active, request)
    if (active.began_ms !== undefined) active.began_ms += performance.now() - began_ms // the tool did nothing meanwhile
    return isApproved
  }

  /**
   * Waits until what a running tool is about to do is approved. A rule that allows the call counts as an approval.
   * @throws Error when it was not: the run ends then
   */
  async approve (active: ActiveExecution, preview: string): Promise<void> {
    if (this.#rules?.(active.job)?.action === 'allow') return
    if (this.#waiting.has(active)) throw new Error('the tool waits for another approval already')
    if ((active.execution.approvals?.length ?? 0) >= requestsMax) {
      throw new Error(`a run may ask for ${requestsMax} approvals at most`)
    }
    this.#checkRoom()
    if (await this.approved(active, preview)) return
    active.end('cancel')
    throw new Error('it was not approved')
  }

  /**
   * Decides on the request of an execution of this process.
   * @throws SkilletError CONFLICT when it does not wait for this decision
   */
  async decide (active: ActiveExecution, decision: Decision): Promise<Execution> {
    this.#decide(active, decision)
    return decision.decision === 'denied' ? await active.ended : active.execution
  }

  /** Nothing waits any longer: what can be started by another process is left to it, all else is interrupted. */
  stop (): void {
    this.#isStopped = true
    for (const active of this.#waiting.keys()) active.end('interrupt')
  }

  #verdict (job: Job): Verdict | undefined {
    return this.#rules?.(job) ?? (job.tool.approval === undefined ? undefined : toolAsks)
  }

  #checkRoom (): void {
    const { waiting_max } = this.#dependencies.config.approvals
    if (this.#waiting.size < waiting_max) return
    const many = `${this.#waiting.size} executions wait for an approval, as many as approvals.waiting_max allows`
    throw new SkilletError('OVERLOADED', `${many}; try again later`)
  }

  #ask (active: ActiveExecution, preview: string | undefined): Approval {
    const { config: { approvals }, bus, active: all } = this.#dependencies
    const { execution, job } = active
    const { reason } = (preview === undefined ? this.#verdict(job) : undefined) ?? toolAsks
    const shown = preview === undefined ? previewOf(job.tool, execution.parameters) : active.clean(preview)
    const request = addRequest(execution, reason, approvals.expires_ms, shown)
    move(execution, 'ask', bus, undefined)
    all.saveNow(active)
    active.moved()
    return request
  }

  async #wait (active: ActiveExecution, request: Approval): Promise<boolean> {
    if (this.#isStopped) active.end('interrupt')
    if (active.abort.aborted) return false
    const over = new AbortController()
    const decided = new Promise<boolean>(resolve => { this.#waiting.set(active, { request, settle: resolve }) })
    const cancel = (): void => { this.#waiting.get(active)?.settle(false) }
    active.abort.addEventListener('abort', cancel)
    this.#timer ??= setInterval(() => { this.#onTick() }, tick_ms)
    void this.#askCaller(active, request, over.signal)
    try {
      return await decided
    } finally {
      this.#waiting.delete(active)
      active.abort.removeEventListener('abort', cancel)
      over.abort()
      if (this.#waiting.size === 0) this.#rest()
    }
  }

  async #askCaller (active: ActiveExecution, request: Approval, signal: AbortSignal): Promise<void> {
    if (!this.#dependencies.config.approvals.ask_caller) return
    this.#tryDecide(active, await askCaller(active, request, signal))
  }

  #rest (): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** @throws SkilletError CONFLICT */
  #decide (active: ActiveExecution, decision: Decision): void {
    const { bus, active: all } = this.#dependencies
    const { execution } = active
    const request = requestFor(execution, decision)
    const waiting = this.#waiting.get(active)
    if (waiting === undefined) {
      throw new SkilletError('CONFLICT', 'The execution is ending', { execution_id: execution.id })
    }
    answerRequest(request, decision)
    const isApproved = decision.decision === 'approved'
    if (isApproved) {
      extendQueue(execution, request)
      move(execution, active.began_ms === undefined ? 'approve' : 'resume', bus, undefined)
      all.saveNow(active)
    } else fail(active, 'APPROVAL_DENIED', deniedMessage(request), {}, 'deny', bus)
    active.moved()
    waiting.settle(isApproved)
  }

  /** As `#decide`, for a decision that may come too late. */
  #tryDecide (active: ActiveExecution, decision: Decision | undefined): void {
    const waiting = this.#waiting.get(active)
    if (decision !== undefined && waiting?.request.digest === decision.digest) this.#decide(active, decision)
  }

  #onTick (): void {
    for (const [active, { request }] of this.#waiting) {
      if (isExpired(request)) this.#tryDecide(active, expiryOf(request))
    }
    if (!this.#isReading && this.#waiting.size > 0) void this.#read()
  }

  /** Takes the decisions that other processes made on some of the executions, and on the others in the next ticks. */
  async #read (): Promise<void> {
    this.#isReading = true
    try {
      for (const [active, waiting] of [...this.#waiting].slice(0, readsPerTick)) {
        const decision = await readDecision(this.#dependencies.storage, active.execution.id)
        if (this.#waiting.get(active) !== waiting) continue // it was decided meanwhile
        this.#waiting.delete(active)
        this.#waiting.set(active, waiting) // behind the others
        this.#tryDecide(active, decision)
      }
    } catch {
      // The history can't be read now; the next tick tries again.
    } finally {
      this.#isReading = false
    }
  }
}
