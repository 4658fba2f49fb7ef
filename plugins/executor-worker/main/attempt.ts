import type { Outcome } from '../../../kernel/index.ts'
import { claims } from '../shared/board.ts'
import { declaredEnvironment } from './environment.ts'
import { attemptsMax, begin_ms, type Limits } from '../shared/limits.ts'
import type { Ended, FromThread, Of, Result } from '../shared/protocol.ts'
import { failed, nothing, outcomeOf, outOfMemory, outOfTime, type Holder, type Run } from './run.ts'
import { deathOf, noRoom, ThreadDeath } from './thread-death.ts'
import type { Thread } from './thread.ts'

export interface AttemptEvents {
  /** The tool waits: its thread computes nothing for now. */
  waiting (): void
  /** The run was taken back, or its thread ended before it began: it must run elsewhere. */
  again (run: Run): void
}

let numbers = 0

/** Messages about one run. */
export type Said = Exclude<FromThread, Of<'pong' | 'stray' | 'clean' | 'ended'>>

/**
 * A run on a thread, in a slot of its board, and the steps that end the run: it is recalled before the tool begins; the
 * tool is asked to end when it is cancelled or out of time; the thread is ended when the tool does not obey.
 */
export class Attempt implements Holder {
  readonly run: Run
  readonly thread: Thread
  readonly slot: number
  readonly number = ++numbers
  /** performance.now() when it was dispatched. */
  readonly dispatched_ms = performance.now()
  /** Why the tool is being ended. */
  #why: 'timeout' | 'cancel' | 'memory' | undefined
  #started = false
  #waiting = false
  #timer: NodeJS.Timeout | undefined
  readonly #limits: Limits
  readonly #events: AttemptEvents

  constructor (run: Run, thread: Thread, slot: number, limits: Limits, events: AttemptEvents) {
    this.run = run
    this.thread = thread
    this.slot = slot
    this.#limits = limits
    this.#events = events
    run.holder = this
  }

  /** How far it is; one of `claims`. */
  get claim (): number {
    return this.thread.board.claim(this.slot)
  }

  get runs (): readonly Run[] {
    return [this.run]
  }

  get waiting (): boolean {
    return this.#waiting
  }

  /** Runs it, alone. @returns what may become of the thread */
  async perform (): Promise<Ended['thread']> {
    const { task, module } = this.run
    this.thread.board.deal(1)
    this.#arm(begin_ms, () => { this.#notBegun() })
    try {
      const ended = await this.thread.execute({
        type: 'run',
        run: this.number,
        execution_id: task.execution_id,
        module,
        revision: task.skill.revision,
        tool: task.tool.name,
        parameters: task.parameters,
        config: task.config,
        secrets: task.secrets ?? {},
        sensitive: this.run.sensitive,
        env: declaredEnvironment(process.env, task.skill.permissions.env)
      })
      this.conclude(ended.result, ended.ran_ms)
      return ended.thread
    } catch (error) {
      this.died(deathOf(error))
      return 'spent'
    }
  }

  hear (message: Said): void {
    if (message.run !== this.number) return
    switch (message.type) {
      case 'loading':
        if (!this.run.settled) this.#arm(this.#limits.load_ms, () => { this.#notLoaded() })
        break
      case 'started':
        this.#begin(0)
        break
      case 'waiting':
        if (this.#waiting) break
        this.#waiting = true
        this.#events.waiting()
        break
      case 'told':
        this.conclude(message.result, message.ran_ms)
        break
      case 'progress':
      case 'log':
        this.#begin(0)
        this.run.heard(message)
    }
  }

  /** The caller no longer wants it. */
  cancel (): void {
    if (this.run.settled || this.#why !== undefined) return
    // The timer stays: it ends a thread that blocks before, or while, it loads.
    if (this.recall()) this.run.settle({ ...nothing, status: 'cancelled' })
    else this.#ask('cancel')
  }

  /** Takes it back, if its tool has not begun: then it never will, here. */
  recall (): boolean {
    const { board } = this.thread
    return board.move(this.slot, claims.dispatched, claims.recalled)
      || board.move(this.slot, claims.loading, claims.recalled)
  }

  /** In a batch: it began so long ago, and has the thread to itself from now on. */
  takeOver (ago_ms: number): void {
    this.#begin(ago_ms)
  }

  /** Its thread uses more memory than it may. */
  exhaust (): void {
    this.#why ??= 'memory'
    void this.thread.end()
  }

  #begin (ago_ms: number): void {
    if (this.#started) return
    this.#started = true
    this.thread.loaded.add(this.run.module)
    this.run.started('thread', ago_ms)
    // Where it has ended already, `conclude` comes next, and clears what is armed.
    if (this.#why !== undefined || this.claim !== claims.begun) return
    this.#arm(Math.max(1, this.run.task.timeout_ms - ago_ms), () => { this.#ask('timeout') })
  }

  #ask (why: 'timeout' | 'cancel'): void {
    this.#why = why
    this.thread.ask(this.number)
    // Of a batch, it may have ended, and another run by now.
    this.#arm(this.#limits.grace_ms, () => {
      if (this.claim === claims.begun) void this.thread.end()
      else this.#arm(begin_ms, () => { if (!this.run.settled) void this.thread.end() })
    })
  }

  #arm (ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms)
  }

  #notBegun (): void {
    if (!this.recall() && this.claim !== claims.recalled) return // it began just now
    void this.thread.end()
    if (!this.run.settled) this.again(new Error(`no thread began the run within ${begin_ms} ms`))
  }

  #notLoaded (): void {
    if (!this.recall() && this.claim !== claims.recalled) return
    void this.thread.end()
    if (!this.run.settled) this.run.settle(failed(`the module did not load within ${this.#limits.load_ms} ms`))
  }

  /** Its thread did not begin it, and no other run is to blame. */
  again (cause: Error): void {
    if (++this.run.attempts < attemptsMax) this.#events.again(this.run)
    else if (cause instanceof ThreadDeath && cause.notStarted) this.run.fault(noRoom(cause))
    else this.run.fault(new Error(`${attemptsMax} threads ended or blocked before they began the run`, { cause }))
  }

  /** It ended so. */
  conclude (result: Result, told_ms: number): void {
    clearTimeout(this.#timer)
    if (this.run.settled || result.kind === 'board') return
    if (result.kind === 'recalled') return this.#recalled()
    const ran_ms = Math.min(told_ms, performance.now() - this.dispatched_ms)
    // The result may have overtaken the message `started`, which goes another way; in a batch there is none.
    if (this.claim >= claims.begun && this.claim !== claims.recalled) this.#begin(ran_ms)
    clearTimeout(this.#timer)
    if (this.#waiting || this.#why !== undefined) this.run.pace.learnHarm()
    else if (this.#started) this.run.pace.learn(ran_ms)
    const outcome = outcomeOf(result, this.#limits.outputBytesMax)
    const { output, output_truncated } = outcome
    if (this.#why === 'cancel') this.run.settle({ output, output_truncated, status: 'cancelled' })
    else if (this.#why === 'memory') this.run.settle(outOfMemory(this.#limits))
    else if (outOfTime(ran_ms, this.run.task.timeout_ms, this.#why === 'timeout')) {
      this.run.settle({ output, output_truncated, status: 'timeout' })
    } else this.run.settle(outcome)
  }

  /** Its thread says that it never began. */
  #recalled (): void {
    if (this.claim === claims.recalled) return // it did not
    this.thread.refuse('word of a run that was not recalled')
    this.run.settle(failed('the run of the tool was lost by its thread'))
  }

  /** Its thread ended with it. */
  died (death: ThreadDeath): void {
    clearTimeout(this.#timer)
    if (this.run.settled) return
    const { claim } = this
    if (claim === claims.begun) {
      this.#begin(0)
      clearTimeout(this.#timer)
      this.run.pace.learnHarm()
      this.run.settle(this.#outcomeOfDeath(death, 'the tool'))
    } else if (claim === claims.loading && (this.#why !== undefined || death.outOfMemory || this.run.attempts > 0)) {
      // Once may have been by what another run had left in the thread; twice is the module's own doing.
      this.run.settle(this.#outcomeOfDeath(death, 'the module, while it was loaded,'))
    } else if (claim !== claims.recalled) this.again(death)
  }

  #outcomeOfDeath (death: ThreadDeath, who: string): Outcome {
    if (this.#why === 'timeout') return { ...nothing, status: 'timeout' }
    if (this.#why === 'cancel') return { ...nothing, status: 'cancelled' }
    if (this.#why === 'memory' || death.outOfMemory) return outOfMemory(this.#limits)
    if (death.refused) return failed(`the thread of ${who} was ended, since it sent the server ${death.message}`)
    if (death.cause instanceof Error && death.code !== 0) return failed(`${who} ended its thread: ${death.message}`)
    return failed(`${who} ended its thread with code ${death.code}`)
  }
}
