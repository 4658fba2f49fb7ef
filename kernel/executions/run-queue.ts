import { List } from '../lib/list.ts'
import type { ActiveExecution } from './active-execution.ts'

/** The lowest and the highest priority. */
export const priorities = { min: -10, max: 10 } as const

/** Asynchronous executions that wait for their start: the highest priority first, then the oldest first. */
export class RunQueue {
  /** A list for each priority that was ever used, the highest first. */
  readonly #lists: { priority: number, waiting: List<ActiveExecution> }[] = []
  /** Those that may not start yet, whatever their priority. */
  readonly #held = new List<ActiveExecution>()
  /** How many are in `#lists`. */
  #ready = 0

  get size (): number {
    return this.#ready + this.#held.size
  }

  /** Adds an execution that may not start until it is released. */
  hold (active: ActiveExecution): void {
    this.#held.push(active)
  }

  /** Lets an execution start when its turn comes. */
  release (active: ActiveExecution): void {
    if (!this.#held.delete(active)) return
    this.#listOf(priorityOf(active)).push(active)
    this.#ready++
  }

  /** Removes an execution. @returns whether it was waiting */
  delete (active: ActiveExecution): boolean {
    if (this.#held.delete(active)) return true
    const isDeleted = this.#listOf(priorityOf(active)).delete(active)
    if (isDeleted) this.#ready--
    return isDeleted
  }

  shift (): ActiveExecution | undefined {
    for (const { waiting } of this.#lists) {
      const first = waiting.shift()
      if (first === undefined) continue
      this.#ready--
      return first
    }
    return undefined
  }

  /** How many executions start before this one; undefined when it does not wait, or is held. */
  before (active: ActiveExecution): number | undefined {
    if (this.#held.has(active)) return undefined
    let before = 0
    for (const { waiting } of this.#lists) {
      if (!waiting.has(active)) {
        before += waiting.size
        continue
      }
      for (const other of waiting) {
        if (other === active) return before
        before++
      }
    }
    return undefined
  }

  /** All that wait, in a list of its own: one that leaves can release another. */
  all (): ActiveExecution[] {
    return [...this.#lists.flatMap(({ waiting }) => [...waiting]), ...this.#held]
  }

  #listOf (priority: number): List<ActiveExecution> {
    const known = this.#lists.find(list => list.priority === priority)
    if (known !== undefined) return known.waiting
    const waiting = new List<ActiveExecution>()
    this.#lists.push({ priority, waiting })
    this.#lists.sort((a, b) => b.priority - a.priority)
    return waiting
  }
}

function priorityOf ({ execution: { queue } }: ActiveExecution): number {
  return queue?.priority ?? 0
}
