import type { Beginnings } from './needle-beginnings.ts'
import type { Steps } from '../lib/pauses.ts'
import { SpanList, type Spans } from '../lib/spans.ts'

/** The number of code units, or states, that one step processes. */
const stepUnits = 32_768

/** The state without a match; it also represents "no state". */
const root = 0
/** The transitions of a state: `goesOn` leads to the state with the next number, `hasBranches` to states in a map. */
const goesOn = 1
const hasBranches = 2

/** States that were created together, with consecutive numbers: each state leads to the next state. */
interface Chain { readonly first: number, readonly parent: number, readonly depth: number }

/**
 * The Aho-Corasick automaton. It has a state for each prefix of a needle, and for each state a fallback: the state of
 * the longest shorter prefix that is also a suffix of it. States without branches have consecutive numbers, so that a
 * state takes eleven bytes.
 */
export class Automaton {
  /** The code unit that leads to a state. */
  readonly #unit: Uint16Array
  /** The fallback of a state: the state that is used when there is no transition for a code unit. */
  readonly #fallback: Int32Array
  /** The length of the longest needle that ends in a state; 0 when no needle ends there. */
  readonly #matched: Int32Array
  readonly #ways: Uint8Array
  /** The transitions that do not lead to the next number, by state and code unit. */
  readonly #branches = new Map<number, number>()
  readonly #chains: Chain[] = []
  #states = 1

  private constructor (units: number) {
    this.#unit = new Uint16Array(units + 1)
    this.#fallback = new Int32Array(units + 1)
    this.#matched = new Int32Array(units + 1)
    this.#ways = new Uint8Array(units + 1)
  }

  static * of (needles: readonly string[]): Steps<Automaton> {
    const automaton = new Automaton(needles.reduce((units, { length }) => units + length, 0))
    let done = 0
    for (const needle of needles) {
      automaton.#insert(needle)
      if ((done += needle.length) < stepUnits) continue
      done = 0
      yield
    }
    yield* automaton.#connect()
    return automaton
  }

  /**
   * Finds the needles in a text.
   * @param from the first index at which a needle can begin
   * @returns the spans of the needles, and the length of the prefix of a needle at the end of the text, in code units
   */
  * search (text: string, from: number, beginnings: Beginnings): Steps<{ spans: Spans, pieceAtEnd: number }> {
    const list = new SpanList()
    let state = root
    for (let at = from; at < text.length;) {
      const to = Math.min(at + stepUnits, text.length)
      state = this.#pass(text, at, to, state, beginnings, list)
      at = to
      yield
    }
    return { spans: list.spans, pieceAtEnd: this.#depthOf(state) }
  }

  #pass (text: string, from: number, to: number, before: number, beginnings: Beginnings, list: SpanList): number {
    let state = before
    for (let i = from; i < to;) {
      if (state === root && (i = beginnings.next(text, i, to)) >= to) break
      state = this.#after(state, text.charCodeAt(i++))
      const length = this.#matched[state] ?? 0
      if (length > 0) list.add(i - length, i)
    }
    return state
  }

  #after (before: number, unit: number): number {
    for (let state = before; ;) {
      const next = this.#child(state, unit)
      if (next !== root || state === root) return next
      state = this.#fallback[state] ?? root
    }
  }

  #child (state: number, unit: number): number {
    const ways = this.#ways[state] ?? 0
    if ((ways & goesOn) !== 0 && this.#unit[state + 1] === unit) return state + 1
    return (ways & hasBranches) === 0 ? root : this.#branches.get(state * 0x10000 + unit) ?? root
  }

  #insert (needle: string): void {
    let state = root
    let at = 0
    for (let next; at < needle.length && (next = this.#child(state, needle.charCodeAt(at))) !== root; at++) state = next
    if (at < needle.length) {
      const first = this.#states
      this.#chains.push({ first, parent: state, depth: at + 1 })
      this.#branches.set(state * 0x10000 + needle.charCodeAt(at), first)
      this.#ways[state] = (this.#ways[state] ?? 0) | hasBranches
      for (let i = at; i < needle.length; i++) {
        this.#unit[this.#states] = needle.charCodeAt(i)
        if (i + 1 < needle.length) this.#ways[this.#states] = goesOn
        this.#states++
      }
      state = this.#states - 1
    }
    this.#matched[state] = needle.length
  }

  /** Sets the fallback of each state, in the order of depth. */
  * #connect (): Steps<void> {
    const chains = [...this.#chains].sort((a, b) => a.depth - b.depth)
    /** The states of the present depth: at most one state of each chain. */
    let level: number[] = []
    let started = 0
    let done = 0
    for (let depth = 1; level.length > 0 || started < chains.length; depth++) {
      for (let chain = chains[started]; chain !== undefined && chain.depth === depth; chain = chains[++started]) {
        this.#fallBack(chain.first, chain.parent)
        level.push(chain.first)
      }
      const next: number[] = []
      for (const state of level) if (((this.#ways[state] ?? 0) & goesOn) !== 0) next.push(state + 1)
      // The states of the next depth that continue a chain. The fallbacks of their parents are set already.
      for (const state of next) this.#fallBack(state, state - 1)
      level = next
      if ((done += level.length + 1) < stepUnits) continue
      done = 0
      yield
    }
  }

  #fallBack (state: number, parent: number): void {
    const fallback = parent === root ? root : this.#after(this.#fallback[parent] ?? root, this.#unit[state] ?? 0)
    this.#fallback[state] = fallback
    this.#matched[state] ||= this.#matched[fallback] ?? 0
  }

  /** The number of code units that a state has matched. */
  #depthOf (state: number): number {
    if (state === root) return 0
    let [low, high] = [0, this.#chains.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#chains[middle]?.first ?? 0) <= state) low = middle
      else high = middle - 1
    }
    const { first, depth } = this.#chains[low] ?? { first: state, depth: 0 }
    return depth + state - first
  }
}
