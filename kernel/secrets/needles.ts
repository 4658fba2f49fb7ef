import { Automaton } from './automaton.ts'
import { Beginnings, needleMin } from './needle-beginnings.ts'
import type { Steps } from '../lib/pauses.ts'
import { joinSpans, type Spans } from '../lib/spans.ts'

/**
 * How many code units of needles one automaton is made of: more are looked for in several passes, so that its memory is
 * bounded.
 */
const automatonUnitsMax = 262_144

/**
 * Of so many needles or fewer in an automaton, which are long then, each is asked for by the system's own search before
 * it is made.
 */
const fewNeedles = 8
/** By so many code units at its beginning: that search takes their number times the text's length, for some texts. */
const probeUnits = 16

/** Which ends of a text may have been cut, so that a piece of a needle stands there. */
export type Cut = 'start' | 'end' | 'both' | 'none'

/**
 * Finds many strings in a text in one pass, by Aho and Corasick. Time is linear in the lengths of the text and of the
 * needles, whatever they are. What is no part of a needle is passed over by looking at four code units at a time; the
 * automaton is only made when four of them begin a needle.
 */
export class Needles {
  readonly #needles: readonly string[]
  readonly #longest: number
  readonly #beginnings: Beginnings
  readonly #groups: readonly (readonly string[])[]
  /** Kept where there is only one. */
  #automaton: Automaton | undefined

  /** @param needles each of `needleMin` code units at least */
  constructor (needles: readonly string[]) {
    this.#needles = needles
    this.#longest = needles.reduce((longest, { length }) => Math.max(longest, length), 0)
    this.#beginnings = new Beginnings(needles)
    this.#groups = grouped(needles)
  }

  /** Where needles stand in a text, and pieces of them at its cut ends. What overlaps is one. */
  * find (text: string, cut: Cut): Steps<Spans> {
    let spans: Spans = []
    const first = yield* this.#beginnings.first(text)
    if (first < text.length) {
      for (const group of this.#groups) {
        if (group.length <= fewNeedles && !group.some(needle => mayBeIn(text, needle))) continue
        const automaton = this.#automaton ?? (yield* Automaton.of(group))
        if (this.#groups.length === 1) this.#automaton = automaton
        const found = yield* automaton.search(text, first, this.#beginnings)
        spans = joinSpans(spans, found.spans)
        if ((cut === 'end' || cut === 'both') && found.pieceAtEnd >= needleMin) spans = joinSpans(spans, [text.length - found.pieceAtEnd, text.length])
      }
    }
    if (cut === 'start' || cut === 'both') {
      const end = this.pieceAtStart(text)
      if (end > 0) spans = joinSpans([0, end], spans)
    }
    return spans
  }

  /**
   * How many code units at the start of a text are the end of a needle, short of the whole; 0 where that is too few to
   * count.
   */
  pieceAtStart (text: string): number {
    const start = text.slice(0, this.#longest - 1)
    if (start.length < needleMin) return 0
    // After Knuth, Morris and Pratt: the needles' ends are searched for the longest beginning of the text that ends
    // them.
    const borders = bordersOf(start)
    let longest = 0
    for (const needle of this.#needles) {
      let matched = 0
      for (let i = Math.max(1, needle.length - start.length); i < needle.length; i++) {
        const unit = needle.charCodeAt(i)
        while (matched > 0 && (matched === start.length || start.charCodeAt(matched) !== unit)) matched = borders[matched - 1] ?? 0
        if (start.charCodeAt(matched) === unit) matched++
      }
      longest = Math.max(longest, matched)
    }
    return longest >= needleMin ? longest : 0
  }
}

/** Whether a needle, or its beginning at the text's end, can be in a text. */
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

/** For each beginning of a text, how long its longest border is: a shorter beginning that also ends it. */
function bordersOf (text: string): Uint32Array {
  const borders = new Uint32Array(text.length)
  for (let i = 1, matched = 0; i < text.length; i++) {
    while (matched > 0 && text.charCodeAt(i) !== text.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (text.charCodeAt(i) === text.charCodeAt(matched)) matched++
    borders[i] = matched
  }
  return borders
}
