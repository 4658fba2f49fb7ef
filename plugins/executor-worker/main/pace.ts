import type { ToolDefinition } from '../../../kernel/index.ts'

/** A run that takes less is short: it shares a message, and a thread's turn, with others. In milliseconds. */
const short_ms = 1
/** A tool whose long runs have come to this is none that may share a turn. */
const long = 4
/** No tool is held longer than this to what it did: after some thirty short runs it is trusted again. */
const longMax = 8
/** What a short run takes off: one in eight may be long, since the system may have interrupted it. */
const relief = 1 / 8
/** The share of the newest run in the mean. */
const newest = 1 / 8

/** How long the runs of one tool take, as far as they were seen. */
export class Pace {
  #measured = false
  /** Before the first run is seen, one long run is enough. */
  #level = long - 1
  /** Of runs, where what is more than short counts as that. */
  #mean_ms = 0

  /** Whether a run of it was seen. */
  get known (): boolean {
    return this.#measured
  }

  get short (): boolean {
    return this.#measured && this.#level < long
  }

  /** What a run takes, of a tool that is short. */
  get mean_ms (): number {
    return this.#mean_ms
  }

  learn (ran_ms: number): void {
    this.#measured = true
    this.#mean_ms += (Math.min(ran_ms, short_ms) - this.#mean_ms) * newest
    this.#level = ran_ms < short_ms ? Math.max(0, this.#level - relief) : Math.min(longMax, this.#level + 1)
  }

  /** It waited for something outside, hung, or ended its thread: nothing to be among others. */
  learnHarm (): void {
    this.#measured = true
    this.#level = longMax
  }
}

/** By tool; a tool of a skill that was loaded anew is another. */
const paces = new WeakMap<ToolDefinition, Pace>()

export function paceOf (tool: ToolDefinition): Pace {
  let pace = paces.get(tool)
  if (pace === undefined) paces.set(tool, pace = new Pace())
  return pace
}
