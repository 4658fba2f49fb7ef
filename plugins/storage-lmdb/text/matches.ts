import { executionWords, hasAll, type Execution, type SoughtWord } from '../../../kernel/index.ts'
import { chunkLength } from '../columns.ts'
import { isIn } from './positions.ts'
import type { Found } from './protocol.ts'

/** The bytes of a chunk's bits. */
const chunkBytes = chunkLength / 8

/** The executions that have the words of a query, as the index found them. */
export class Matches {
  readonly #words: readonly SoughtWord[]
  readonly #found: Found

  constructor (words: readonly SoughtWord[], found: Found) {
    this.#words = words
    this.#found = found
  }

  has (sequence: number): boolean {
    return sequence >= this.#found.first && isIn(this.#found.bits, sequence - this.#found.first)
  }

  /** Whether a chunk of the columns has a match. */
  hasAny (chunk: number): boolean {
    const { first, bits } = this.#found
    const from = chunk * chunkBytes - first / 8
    for (let index = Math.max(from, 0); index < from + chunkBytes; index++) if ((bits[index] ?? 0) !== 0) return true
    return false
  }

  /** Whether an execution has the words that the index does not have any more. */
  isIn (execution: Execution | undefined): boolean {
    return execution !== undefined && hasAll(executionWords(execution), this.#words)
  }
}
