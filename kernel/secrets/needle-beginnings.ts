import type { Steps } from '../lib/pauses.ts'

/** The minimum length of a needle, and of a piece of a needle that counts, in UTF-16 code units. */
export const needleMin = 4

/** The number of code units that one step processes. */
const stepUnits = 65_536

/** 2^32 divided by the golden ratio: its multiples are spread evenly over their upper bits. */
const spread = 0x9e3779b1

/** A set of the first four code units of all needles. It excludes most positions of a text as the start of a needle. */
export class Beginnings {
  /**
   * The size is a power of two, and 64 times the number of needles or more (within 2^10 to 2^20), so that false
   * positives are rare.
   */
  readonly #seen: Uint8Array
  readonly #shift: number

  constructor (needles: readonly string[]) {
    const bits = Math.min(20, Math.max(10, Math.ceil(Math.log2(needles.length * 64))))
    this.#seen = new Uint8Array(2 ** bits)
    this.#shift = 32 - bits
    for (const needle of needles) this.#seen[Math.imul(fourAt(needle, 0), spread) >>> this.#shift] = 1
  }

  /** The first index from `from` on, and before `to`, at which a needle may begin; `to` when there is no such index. */
  next (text: string, from: number, to: number): number {
    const seen = this.#seen
    const shift = this.#shift
    const end = Math.min(to, text.length - needleMin + 1)
    if (from >= end) return to
    let four = fourAt(text, from)
    for (let i = from; ;) {
      if (seen[Math.imul(four, spread) >>> shift] === 1) return i
      if (++i >= end) return to
      four = (four << 8) ^ text.charCodeAt(i + needleMin - 1)
    }
  }

  /** The first index in the whole text; the length of the text when there is no such index. */
  * first (text: string): Steps<number> {
    for (let from = 0; from < text.length; from += stepUnits) {
      const to = Math.min(from + stepUnits, text.length)
      const index = this.next(text, from, to)
      if (index < to) return index
      yield
    }
    return text.length
  }
}

/** Four code units as one 32-bit number. When a fifth code unit is shifted in, the first one is shifted out. */
function fourAt (text: string, at: number): number {
  return (text.charCodeAt(at) << 24) ^ (text.charCodeAt(at + 1) << 16) ^ (
    text.charCodeAt(at + 2) << 8
  ) ^ text.charCodeAt(at + 3)
}
