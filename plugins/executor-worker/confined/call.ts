import type { Logger, Outcome } from '../../../kernel/index.ts'
import { Refusals } from '../../toolkit/network/refusals.ts'
import type { ConfinedEnd } from '../../toolkit/sandbox/confined-program.ts'
import { excessOf } from '../../toolkit/sandbox/limits.ts'
import { failed, nothing, outcomeOf, outOfMemory, outOfTime, type Holder, type Run } from '../main/run.ts'
import type { Limits } from '../shared/limits.ts'
import type { ToolResult } from '../shared/protocol.ts'
import type { Place } from './place.ts'

/** What a call needs of its work. */
export interface CallActs {
  readonly place: Place
  readonly log: Logger
  /** Asks the tool to end; where it has not begun, that it never does. */
  ask (): void
  /** Ends the process. */
  kill (): void
}

/**
 * A run in a process, and the steps that end the run. `given`: the process may begin it at any time. `back`: it never
 * begins there.
 */
export class ProcessCall implements Holder {
  readonly run: Run
  readonly number: number
  stage: 'given' | 'loading' | 'begun' | 'over' | 'back' = 'given'
  /** What it could not reach. */
  #refusals: Refusals | undefined
  /** Whether it has returned a promise that was pending. */
  waiting = false
  /** Why it is being ended. */
  #why: 'timeout' | 'cancel' | 'memory' | 'load' | undefined
  #began_ms = 0
  #timer: NodeJS.Timeout | undefined
  readonly #given_ms = performance.now()
  readonly #limits: Limits
  readonly #acts: CallActs
  /** Whether other runs may be before it. */
  readonly #shared: boolean

  constructor (run: Run, number: number, shared: boolean, limits: Limits, acts: CallActs) {
    this.run = run
    this.number = number
    this.#shared = shared
    this.#limits = limits
    this.#acts = acts
    run.holder = this
  }

  /** Whether the process was asked to end it. */
  get asked (): boolean {
    return this.#why !== undefined
  }

  /** How long ago it began, in milliseconds. */
  get ago_ms (): number {
    return performance.now() - this.#began_ms
  }

  /** The caller no longer wants it. */
  cancel (): void {
    if (this.run.settled || this.#why !== undefined) return
    this.#why = 'cancel'
    if (this.stage === 'loading') return this.#acts.kill()
    this.#acts.ask()
    // Where another run is before it, the process answers when that has ended, at the latest.
    if (this.stage === 'begun' || !this.#shared) this.#arm(this.#limits.grace_ms, () => { this.#acts.kill() })
  }

  /** It may not reach what it wanted to. */
  refused (message: string): void {
    const { run, number } = this
    const { skill, tool } = run.task
    this.#refusals ??= new Refusals(`${skill.name}:${tool.name}`, {
      log (level, text) { run.heard({ type: 'log', run: number, level, text }) }
    }, this.#acts.log)
    this.#refusals.add(message)
  }

  /** Its process uses more memory than it may. */
  exhaust (): void {
    this.#why ??= 'memory'
    this.#acts.kill()
  }

  load (): void {
    this.stage = 'loading'
    if (this.#why !== undefined) return this.#acts.kill()
    this.#arm(this.#limits.load_ms, () => {
      this.#why ??= 'load'
      this.#acts.kill()
    })
  }

  begin (): void {
    clearTimeout(this.#timer)
    this.stage = 'begun'
    this.#began_ms = performance.now()
    this.run.started(this.#acts.place.level, 0)
    if (this.#why !== undefined) this.#arm(this.#limits.grace_ms, () => { this.#acts.kill() })
  }

  /** From now on, its time limit is watched. */
  limit (): void {
    if (this.#why !== undefined || this.stage !== 'begun') return
    this.#arm(Math.max(1, this.run.task.timeout_ms - this.ago_ms), () => {
      this.#why = 'timeout'
      this.#acts.ask()
      this.#arm(this.#limits.grace_ms, () => { this.#acts.kill() })
    })
  }

  /** It ended so. */
  conclude (result: ToolResult, told_ms: number): void {
    clearTimeout(this.#timer)
    const ran_ms = Math.min(told_ms, performance.now() - this.#given_ms)
    if (this.waiting || this.#why !== undefined) this.run.pace.learnHarm()
    else if (this.stage === 'begun') this.run.pace.learn(ran_ms)
    this.stage = 'over'
    const told = outcomeOf(result, this.#limits.outputBytesMax)
    const outcome = this.#refusals?.explain(told) ?? told
    const { output, output_truncated } = outcome
    if (this.#why === 'cancel') this.run.settle({ output, output_truncated, status: 'cancelled' })
    else if (this.#why === 'memory') this.run.settle(outOfMemory(this.#limits))
    else if (outOfTime(ran_ms, this.run.task.timeout_ms, this.#why === 'timeout')) {
      this.run.settle({ output, output_truncated, status: 'timeout' })
    } else this.run.settle(outcome)
  }

  /** It never begins in this process. @returns whether it must run in another */
  giveBack (): boolean {
    if (this.stage !== 'given') return false
    clearTimeout(this.#timer)
    this.stage = 'back'
    if (this.#why !== 'cancel') return true
    this.run.settle({ ...nothing, status: 'cancelled' })
    return false
  }

  /** Its process ended with it. @returns whether it must run in another */
  died (end: ConfinedEnd): boolean {
    clearTimeout(this.#timer)
    if (this.stage === 'given') return this.giveBack()
    if (this.stage === 'begun') {
      this.stage = 'over'
      this.run.pace.learnHarm()
      this.run.settle(this.#outcomeOf(end, 'the tool'))
    } else if (this.stage === 'loading') {
      this.stage = 'back'
      // Once may have been by what another run had left in the process; twice is the module's own doing.
      if (this.#why === undefined && !isOutOfMemory(end) && this.run.attempts === 0) return true
      this.run.settle(this.#outcomeOf(end, 'the module, while it was loaded,'))
    }
    return false
  }

  #outcomeOf (end: ConfinedEnd, who: string): Outcome {
    if (this.#why === 'timeout') return { ...nothing, status: 'timeout' }
    if (this.#why === 'cancel') return { ...nothing, status: 'cancelled' }
    if (this.#why === 'load') return failed(`the module did not load within ${this.#limits.load_ms} ms`)
    if (this.#why === 'memory' || isOutOfMemory(end)) return outOfMemory(this.#limits)
    if (end.exceeded !== undefined) return failed(`${who} ${excessOf(end.exceeded, this.#acts.place.limits)}`)
    if (end.refused !== undefined) {
      return failed(`the process of ${who} was ended, since it sent the server ${end.refused}`)
    }
    return failed(`${who} ended its process ${how(end)}`)
  }

  #arm (ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms)
  }
}

/** How a process ended, as the end of a sentence. */
export function how ({ code, signal }: ConfinedEnd): string {
  return signal === undefined ? `with code ${code ?? 'unknown'}` : `by ${signal}`
}

/** Whether V8 has ended the process. It says so itself, so this holds for its own runs only. */
function isOutOfMemory ({ signal, stderr }: ConfinedEnd): boolean {
  return signal !== undefined && stderr.includes('heap out of memory')
}
