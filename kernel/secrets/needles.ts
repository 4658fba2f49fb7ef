import { Automaton } from './automaton.ts'
import { Beginnings, needleMin } from './needle-beginnings.ts'
import type { Steps } from '../lib/pauses.ts'
import { joinSpans, type Spans } from '../lib/spans.ts'

/**
 * The maximum number of code units in the needles of one automaton. More needles are searched in several passes, so
 * that the memory of an automaton is bounded.
 */
const automatonUnitsMax = 262_144

/**
 * When an automaton would have this number of needles or fewer (which can be long), the needles are first searched with
 * `String.includes`, before the automaton is built.
 */
const fewNeedles = 8
/**
 * The number of code units at the beginning of a needle that `String.includes` searches. For some texts, its time is
 * this number times the length of the text.
 */
const probeUnits = 16

/** The ends of a text that may have been cut off, so that a piece of a needle may be there. */
export type Cut = 'start' | 'end' | 'both' | 'none'

/**
 * Finds many strings in a text in one pass, with the Aho-Corasick algorithm. The time is linear in the lengths of the
 * text and of the needles, for every input. A check of four code units at a time skips text that belongs to no needle;
 * the automaton is built only when such four code units are the beginning of a needle.
 */
export class Needles {
  readonly #needles: readonly string[]
  readonly #longest: number
  readonly #beginnings: Beginnings
  readonly #groups: readonly (readonly string[])[]
  /** The automaton, stored for later searches when there is only one group. */
  #automaton: Automaton | undefined

  /** @param needles the strings to find, each with at least `needleMin` code units */
  constructor (needles: readonly string[]) {
    this.#needles = needles
    this.#longest = needles.reduce((longest, { length }) => Math.max(longest, length), 0)
    this.#beginnings = new Beginnings(needles)
    this.#groups = grouped(needles)
  }

  /** Finds the needles in a text, and pieces of needles at its cut ends. Overlapping spans become one span. */
  * find (text: string, cut: Cut): Steps<Spans> {
    let spans: Spans = []
    const first = yield* this.#beginnings.first(text)
    if (first < text.length) {
      for (const group of this.#groups) {
        if (group.length <= fewNeedles && !group.some(needle => mayBeIn(text, needle))) continue
        const automaton = this.#automaton ?? (yield* Automaton.of(group))
        if (this.#groups.length === 1) this.#automaton = automaton
        const matches = yield* automaton.search(text, first, this.#beginnings)
        spans = joinSpans(spans, matches.spans)
        if ((cut === 'end' || cut === 'both') && matches.pieceAtEnd >= needleMin) {
          spans = joinSpans(spans, [text.length - matches.pieceAtEnd, text.length])
        }
      }
    }
    if (cut === 'start' || cut === 'both') {
      const end = this.pieceAtStart(text)
      if (end > 0) spans = joinSpans([0, end], spans)
    }
    return spans
  }

  /**
   * The number of code units at the start of a text that are the end of a needle, but not the whole needle; 0 when the
   * number is less than `needleMin`.
   */
  pieceAtStart (text: string): number {
    const start = text.slice(0, this.#longest - 1)
    if (start.length < needleMin) return 0
    // Knuth-Morris-Pratt algorithm: finds the longest prefix of the text that is a suffix of a needle.
    const borders = bordersOf(start)
    let longest = 0
    for (const needle of this.#needles) {
      let matched = 0
      for (let i = Math.max(1, needle.length - start.length); i < needle.length; i++) {
        const unit = needle.charCodeAt(i)
        while (matched > 0 && (matched === start.length || start.charCodeAt(matched) !== unit)) {
          matched = borders[matched - 1] ?? 0
        }
        if (start.charCodeAt(matched) === unit) matched++
      }
      longest = Math.max(longest, matched)
    }
    return longest >= needleMin ? longest : 0
  }
}

/** Whether a text can contain a needle, or the beginning of a needle at its end. */
function mayBeIn (text: string, needle: string): boolean {
  return text.includes(needle.slice(0, probeUnits)) || text.slice(1 - probeUnits).includes(needle.slice(0, needleMin))
}

function grouped (needles: readonly string[]): string[][] {
  const groups: string[][] = []
  let left = 0
  for (const needle of needles) {
    if (needle.length > left || groups.length === 0) {
      groups.push([])
      left = automatonUnitsMax
    }
    groups.at(-1)?.push(needle)
    left -= needle.length
  }
  return groups
}

/** For each prefix of a text, the length of its longest border: a shorter prefix that is also a suffix of it. */
function bordersOf (text: string): Uint32Array {
  const borders = new Uint32Array(text.length)
  for (let i = 1, matched = 0; i < text.length; i++) {
    while (matched > 0 && text.charCodeAt(i) !== text.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (text.charCodeAt(i) === text.charCodeAt(matched)) matched++
    borders[i] = matched
  }
  return borders
}
