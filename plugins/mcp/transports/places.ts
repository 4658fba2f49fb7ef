import { SkilletError } from '../../../kernel/index.ts'

/** The number of streams that may be open in total, and by one caller. */
const streamsMax = { all: 1_000, caller: 200 }

/** Counts open streams by caller, so that no caller can use up the limit for all. */
export class StreamPlaces {
  readonly #taken = new Map<string, number>()
  #all = 0

  /**
   * Acquires a place for a stream.
   * @returns a function that releases the place
   * @throws SkilletError OVERLOADED
   */
  take (caller: string): () => void {
    const own = this.#taken.get(caller) ?? 0
    if (own >= streamsMax.caller) {
      throw new SkilletError('OVERLOADED', `You have ${own} streams open, which is as many as one caller may have; close some`)
    }
    if (this.#all >= streamsMax.all) {
      throw new SkilletError('OVERLOADED', `${streamsMax.all} streams are in use; try again later`)
    }
    this.#taken.set(caller, own + 1)
    this.#all++
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#all--
      const left = (this.#taken.get(caller) ?? 1) - 1
      if (left === 0) this.#taken.delete(caller)
      else this.#taken.set(caller, left)
    }
  }
}
