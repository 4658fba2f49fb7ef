import type { Steps } from '../lib/pauses.ts'

/** The shortest needle, and the shortest piece of one that counts, in UTF-16 code units. */
export const needleMin = 4

/** How many code units are looked at in one step. */
const stepUnits = 65_536

/** 2^32 divided by the golden ratio: its multiples are spread evenly over their upper bits. */
const spread = 0x9e3779b1

/** The first four code units of all needles: most places of a text are told by them to be the beginning of none. */
export class Beginnings {
  /** A power of two, at least 64 times the needles: a place is taken for a beginning by chance as seldom. */
  readonly #seen: Uint8Array
  readonly #shift: number

  constructor (needles: readonly string[]) {
    const bits = Math.min(20, Math.max(10, Math.ceil(Math.log2(needles.length * 64))))
    this.#seen = new Uint8Array(2 ** bits)
    this.#shift = 32 - bits
    for (const needle of needles) this.#seen[Math.imul(fourAt(needle, 0), spread) >>> this.#shift] = 1
  }

  /** The first place from `from` on, and before `to`, where a needle may begin; `to` where there is none. */
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

  /** The first place of all; the text's length where there is none. */
  * first (text: string): Steps<number> {
    for (let from = 0; from < text.length; from += stepUnits) {
      const to = Math.min(from + stepUnits, text.length)
      const found = this.next(text, from, to)
      if (found < to) return found
      yield
    }
    return text.length
  }
}

/** Four code units as one number: what a fifth shifts out of it is gone. */
function fourAt (text: string, at: number): number {
  return (text.charCodeAt(at) << 24) ^ (text.charCodeAt(at + 1) << 16) ^ (text.charCodeAt(at + 2) << 8) ^ text.charCodeAt(at + 3)
}
