import type { LexicalIndex, Match } from './words/lexical-index.ts'
import type { Found } from './meaning/protocol.ts'

/**
 * What puts tools in order: how far a query's cosine and its BM25 score stand above those of all tools, in deviations,
 * and how much of the tool's name is in the query. The weights are rounded; figures of six public sets of tools, by
 * three of which they were not chosen, hardly change around them.
 */
const order = { cosine: 0.65, words: 0.35, name: 0.5 } as const
/** What a tool is ahead that the query is the name of: more than all else comes to. */
const first = 1_000_000
/** A tool without a vector is taken to mean what it says in words, half as clearly. */
const unembedded = 0.5
/**
 * What makes a score of it: a logistic function of evidence that means the same from query to query, fitted to those
 * sets, each with its own queries and with those of others, so that right and wrong answers weigh the same.
 */
const scale = { cosine: 8.5, words: 10, base: -4 } as const
/** Likewise, without a cosine. */
const scaleOfWords = { words: 14, name: 2.3, base: -2.2 } as const

/** Tools, the best first, and their scores. */
export interface Ranking { tools: readonly number[], scores: readonly number[] }

/**
 * What is worked with, kept from call to call: new arrays for each query keep the collector busy, and all else waits
 * for it.
 */
let room = roomFor(512)

function roomFor (candidates: number) {
  const numbers = (): Float64Array => new Float64Array(candidates)
  return {
    candidates, tools: numbers(), orders: numbers(), likely: numbers(), means: numbers(), counts: numbers(),
    places: new Uint32Array(candidates)
  }
}

/**
 * Puts candidates in order, best first, with scores that fall. Tools whose name the query is come first, with 1.
 * @param byWords candidates by their words; those of `byMeaning` are candidates too
 * @param byMeaning what the model says; absent: words alone
 * @param most how many of them are wanted
 */
export function rank (
  byWords: Uint32Array, query: string, index: LexicalIndex, match: Match, byMeaning: Found | undefined, most: number
): Ranking {
  const exact = index.named(query)
  const candidates = byWords.length + (byMeaning?.tools.length ?? 0)
  if (candidates > room.candidates) room = roomFor(candidates)
  const { tools, orders, likely } = room
  let count = 0
  const judge = (tool: number, cosine: number | undefined): void => {
    const score = match.scores[tool] ?? 0
    const words = match.deviation > 0 ? (score - match.mean) / match.deviation : 0
    const share = match.best > 0 ? score / match.best : 0
    const named = index.nameShare(tool, match)
    const meaning = byMeaning === undefined || cosine === undefined
      ? unembedded * words
      : (cosine - byMeaning.mean) / byMeaning.deviation
    const isExact = exact.includes(tool)
    tools[count] = tool
    orders[count] = (byMeaning === undefined ? words : order.cosine * meaning + order.words * words)
      + order.name * named
      + (isExact ? first : 0)
    likely[count++] = isExact ? 1 : logistic(cosine === undefined
      ? scaleOfWords.base + scaleOfWords.words * share + scaleOfWords.name * named
      : scale.base + scale.cosine * cosine + scale.words * share)
  }
  byMeaning?.tools.forEach((tool, i) => { judge(tool, byMeaning.cosines[i]) })
  byWords.forEach(tool => { if (byMeaning?.tools.includes(tool) !== true) judge(tool, undefined) })
  const places = room.places.subarray(0, count)
  for (let i = 0; i < count; i++) places[i] = i
  places.sort((a, b) => (orders[b] ?? 0) - (orders[a] ?? 0) || (tools[a] ?? 0) - (tools[b] ?? 0))
  return { tools: Array.from(places.subarray(0, most), place => tools[place] ?? 0), scores: falling(places, most) }
}

/**
 * The numbers nearest to how likely the tools in these places are that never rise: where they would, neighbours share
 * their mean (pool adjacent violators). The first of them, rounded.
 */
function falling (places: Uint32Array, most: number): number[] {
  const { likely, means, counts } = room
  let pools = 0
  for (let i = 0; i < places.length; i++) {
    let sum = likely[places[i] ?? 0] ?? 0
    let count = 1
    while (pools > 0 && (means[pools - 1] ?? 0) < sum / count) {
      pools--
      sum += (means[pools] ?? 0) * (counts[pools] ?? 0)
      count += counts[pools] ?? 0
    }
    means[pools] = sum / count
    counts[pools++] = count
  }
  const fallen: number[] = []
  for (let pool = 0; pool < pools; pool++) {
    for (let i = counts[pool] ?? 0; i > 0 && fallen.length < most; i--) {
      fallen.push(Math.round((means[pool] ?? 0) * 10_000) / 10_000)
    }
  }
  return fallen
}

function logistic (x: number): number {
  return 1 / (1 + Math.exp(-x))
}
