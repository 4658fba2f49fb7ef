import type { SoughtWord } from '../../../kernel/index.ts'
import { addTo } from './positions.ts'

/** The words of a block while it is made, from its first execution on. */
export class MemoryBlock {
  readonly words = new Map<string, number[]>()
  /** The positions of executions that had not ended when they were read. */
  readonly open = new Set<number>()
  /** The position of the next execution that is to be read. */
  next: number

  /** @param next the position of the first execution that is there */
  constructor (next: number) {
    this.next = next
  }

  /** Adds an execution that has ended. */
  add (position: number, words: Iterable<string>): void {
    for (const word of words) {
      const positions = this.words.get(word)
      if (positions === undefined) this.words.set(word, [position])
      else if ((positions.at(-1) ?? -1) < position) positions.push(position)
      else positions.splice(positions.findIndex(other => other > position), 0, position) // ended later than others
    }
  }

  /** Calls a function for each word, as `BlockFile.look` does. */
  look (words: readonly SoughtWord[], seen: (addTo: (set: Uint8Array) => void) => boolean): void {
    for (const sought of words) if (!seen(set => { this.#add(sought, set) })) return
  }

  #add ({ word, isPrefix }: SoughtWord, set: Uint8Array): void {
    if (!isPrefix) {
      for (const position of this.words.get(word) ?? []) addTo(set, position)
      return
    }
    for (const [other, positions] of this.words) {
      if (other.startsWith(word)) for (const position of positions) addTo(set, position)
    }
  }
}

