import { Attempt, type AttemptEvents, type Said } from './attempt.ts'
import { claims } from '../shared/board.ts'
import { declaredEnvironment } from './environment.ts'
import { begin_ms, slow_ms, type Limits } from '../shared/limits.ts'
import type { CallTool, Ended, Of, ToolResult } from '../shared/protocol.ts'
import type { Run } from './run.ts'
import { deathOf, type ThreadDeath } from './thread-death.ts'
import type { Thread } from './thread.ts'

export interface BatchEvents extends AttemptEvents {
  /** One run has the thread to itself from now on; the others have ended, or are given back. */
  alone (): void
}

/** The result of a run whose result was lost by its thread, or was overwritten by code in the thread. */
const damaged: ToolResult = {
  kind: 'failed', message: 'the result of the tool was lost by its thread', name: undefined
}

/**
 * Runs of short tools on one thread, as one message. The thread goes through them one after another and leaves the
 * results on its board, so that they are there even when it dies. A run that hangs, waits or ends its thread harms no
 * other run: a run that had ended keeps its result, and a run that had not begun is taken back and runs elsewhere.
 */
export class Batch {
  readonly thread: Thread
  /** performance.now() when it was dispatched. */
  readonly dispatched_ms = performance.now()
  readonly #attempts: readonly Attempt[]
  readonly #events: BatchEvents
  #timer: NodeJS.Timeout
  /** The first that was not settled when it was last looked at. */
  #next = 0
  /** performance.now() when a run was last seen to have begun or ended. */
  #moved_ms = this.dispatched_ms
  #alone: Attempt | undefined

  constructor (runs: readonly Run[], thread: Thread, limits: Limits, events: BatchEvents) {
    this.thread = thread
    this.#events = events
    this.#attempts = runs.map((run, slot) => new Attempt(run, thread, slot, limits, events))
    this.#timer = setTimeout(() => { this.#look() }, slow_ms)
  }

  /** Of its first run; those of the others follow. */
  get number (): number {
    return this.#attempts[0]?.number ?? 0
  }

  get runs (): readonly Run[] {
    return this.#attempts.map(({ run }) => run)
  }

  get waiting (): boolean {
    return this.#alone?.waiting ?? false
  }

  /** Runs them. @returns what may become of the thread */
  async perform (): Promise<Ended['thread']> {
    const { board } = this.thread
    board.deal(this.#attempts.length)
    try {
      const { thread } = await this.thread.execute(messageOf(this.#attempts, this.number))
      clearTimeout(this.#timer)
      this.#collect()
      this.#giveBack()
      this.#settleRest()
      return thread
    } catch (error) {
      clearTimeout(this.#timer)
      this.#died(deathOf(error))
      return 'spent'
    }
  }

  hear (message: Said): void {
    const attempt = this.#attempts[message.run - this.number]
    if (attempt === undefined) return
    if (message.type === 'waiting' && this.#alone === undefined) this.#leaveAlone(attempt)
    attempt.hear(message)
  }

  cancel (): void {
    for (const attempt of this.#attempts) attempt.cancel()
  }

  /** The thread uses more memory than it may: by the run it is at. */
  exhaust (): void {
    const current = this.#current()
    if (current === undefined) void this.thread.end()
    else current.exhaust()
  }

  #look (): void {
    const before = this.#next
    this.#collect()
    const current = this.#current()
    const now = performance.now()
    if (current !== undefined || this.#next > before) this.#moved_ms = now
    if (current !== undefined && this.#ago_ms(current) >= slow_ms) return this.#leaveAlone(current)
    if (now - this.#moved_ms < begin_ms) {
      this.#timer = setTimeout(() => { this.#look() }, slow_ms)
      return
    }
    for (const attempt of this.#attempts.toReversed()) {
      if (attempt.recall()) attempt.again(new Error(`no thread began the run within ${begin_ms} ms`))
    }
    void this.thread.end()
  }

  #leaveAlone (attempt: Attempt): void {
    clearTimeout(this.#timer)
    this.#alone = attempt
    this.#collect()
    this.#giveBack()
    attempt.takeOver(this.#ago_ms(attempt))
    this.#events.alone()
  }

  /** Settles what has ended, as far as nothing before it has not. */
  #collect (): void {
    const { board } = this.thread
    for (let attempt = this.#attempts[this.#next]; attempt !== undefined; attempt = this.#attempts[++this.#next]) {
      const { claim } = attempt
      if (claim === claims.ended) {
        const ended = board.read(attempt.slot)
        if (ended === undefined) this.thread.refuse('a result that makes no sense')
        attempt.conclude(ended?.result ?? damaged, ended?.ran_ms ?? 0)
      } else if (claim !== claims.recalled && claim !== claims.told) return
    }
  }

  /** How long ago one began. */
  #ago_ms ({ slot }: Attempt): number {
    return this.thread.board.ago_ms(slot, performance.now() - this.dispatched_ms)
  }

  #current (): Attempt | undefined {
    return this.#attempts.find(({ claim }) => claim === claims.begun)
  }

  /** What has not begun runs elsewhere, before what came later. */
  #giveBack (): void {
    for (const attempt of this.#attempts.toReversed()) if (attempt.recall()) this.#events.again(attempt.run)
  }

  #died (death: ThreadDeath): void {
    this.#collect()
    const culprit = this.#current()
    culprit?.died(death)
    if (culprit !== undefined) this.#giveBack()
    else for (const attempt of this.#attempts.toReversed()) if (attempt.recall()) attempt.again(death)
    this.#settleRest()
  }

  /** What the thread said has ended, or begun, and left without a result: it must not run again. */
  #settleRest (): void {
    for (const attempt of this.#attempts) {
      if (attempt.run.settled || attempt.claim === claims.recalled) continue
      this.thread.refuse('no result of a run that it had begun')
      attempt.conclude(damaged, 0)
    }
  }
}

function messageOf (attempts: readonly Attempt[], run: number): Of<'batch'> {
  const tools: CallTool[] = []
  const numbers = new Map<object, number>()
  const tool_of = attempts.map(({ run: { module, task: { tool, config, skill } } }) => {
    const number = numbers.get(tool)
    if (number !== undefined && tools[number]?.config === config) return number
    numbers.set(tool, tools.length)
    const env = declaredEnvironment(process.env, skill.permissions.env)
    return tools.push({ module, revision: skill.revision, tool: tool.name, config, env }) - 1
  })
  return {
    type: 'batch', run, tools, tool_of,
    execution_ids: attempts.map(attempt => attempt.run.task.execution_id),
    parameters: JSON.stringify(attempts.map(attempt => attempt.run.task.parameters))
  }
}
