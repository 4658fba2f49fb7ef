import { List } from '../../../kernel/index.ts'
import { slotsMax } from '../shared/board.ts'
import { batch_ms } from '../shared/limits.ts'
import type { Run } from './run.ts'
import type { Thread } from './thread.ts'

/** How far into the queue the search for runs that fit into a batch goes. */
const lookedAtMax = 4 * slotsMax

/**
 * The runs that wait for a thread, in two lanes: a lane for runs of short tools, which may share a thread's turn, and a
 * lane for all others. A run with secrets shares no turn.
 */
export class Lanes {
  readonly #short = new List<Run>()
  readonly #others = new List<Run>()

  /** Runs that wait. */
  get size (): number {
    return this.#short.size + this.#others.size
  }

  /** Runs of short tools that wait. */
  get shortSize (): number {
    return this.#short.size
  }

  add (run: Run): void {
    this.#laneOf(run).push(run)
  }

  /** Puts a run before those that came after it. */
  addFirst (run: Run): void {
    this.#laneOf(run).unshift(run)
  }

  /** @returns whether the run waited */
  delete (run: Run): boolean {
    return this.#short.delete(run) || this.#others.delete(run)
  }

  /** Takes any of the runs out. */
  shift (): Run | undefined {
    return this.#short.shift() ?? this.#others.shift()
  }

  firstShort (): Run | undefined {
    return this.#firstOf(this.#short)
  }

  firstOther (): Run | undefined {
    return this.#firstOf(this.#others)
  }

  /** The short runs that a thread can take as one batch. */
  fitting (thread: Thread): Run[] {
    const runs: Run[] = []
    let looked = 0
    let ms = 0
    for (const run of this.#short) {
      if (runs.length === slotsMax || looked++ === lookedAtMax || ms > batch_ms) break
      if (!run.pace.short || !thread.has(run.module, run.task.skill.revision)) continue
      ms += run.pace.mean_ms
      runs.push(run)
    }
    return runs
  }

  #laneOf (run: Run): List<Run> {
    return !run.sensitive && run.pace.short ? this.#short : this.#others
  }

  /** The first run of a lane. Runs of a tool whose pace has changed go to the other lane. */
  #firstOf (lane: List<Run>): Run | undefined {
    for (let run = lane.first; run !== undefined; run = lane.first) {
      if (this.#laneOf(run) === lane) return run
      lane.delete(run)
      this.#laneOf(run).push(run)
    }
    return undefined
  }
}
