import { LRUCache } from 'lru-cache'
import type { View } from '../agent/agent-tool.ts'
import type { TaskQuestions } from './task-questions.ts'

/** The number of tasks of which a process knows more than the history has. */
const knownMax = 10_000

/** What the history does not have of a task: how its client wants to see the output, and what its tool asks. */
export interface Known {
  readonly view: View
  readonly questions: TaskQuestions
}

/** What this process knows of tasks. A task is an execution: all else of it is in the history. */
export class Tasks {
  readonly #known = new LRUCache<string, Known>({ max: knownMax })

  add (id: string, known: Known): void {
    this.#known.set(id, known)
  }

  /** What is known of a task; undefined for one that another process began, or that was begun long ago. */
  get (id: string): Known | undefined {
    return this.#known.get(id)
  }
}
