import type { LexicalIndex, Match } from './lexical-index.ts'
import type { Found } from './protocol.ts'

/**
 * What puts tools in order: how far a query's cosine and its BM25 score stand above those of all tools, in deviations,
 * and how much of the tool's name is in the query. The weights are rounded; figures of six public sets of tools, by three of
 * which they were not chosen, hardly change around them.
 */
const order = { cosine: 0.65, words: 0.35, name: 0.5 } as const
/** What a tool is ahead that the query is the name of: more than all else comes to. */
const first = 1_000_000
/** A tool without a vector is taken to mean what it says in words, half as clearly. */
const unembedded = 0.5
/**
 * What makes a score of it: a logistic function of evidence that means the same from query to query, fitted to those sets,
 * each with its own queries and with those of others, so that right and wrong answers weigh the same.
 */
const scale = { cosine: 8.5, words: 10, base: -4 } as const
/** Likewise, without a cosine. */
const scaleOfWords = { words: 14, name: 2.3, base: -2.2 } as const

export interface Ranked { tool: number, score: number }

/**
 * Puts candidates in order, best first, with scores that fall. Tools whose name the query is come first, with 1.
 * @param byWords candidates by their words; those of `found` are candidates too
 * @param found what the model says; absent: words alone
 */
export function rank (byWords: Uint32Array, query: string, index: LexicalIndex, match: Match, found: Found | undefined): Ranked[] {
  const compared = new Set(found?.tools)
  const tools = [...compared, ...byWords.filter(tool => !compared.has(tool))]
  const exact = new Set(index.named(query))
  const orders = new Float64Array(tools.length)
  const likely = new Float64Array(tools.length)
  for (const [i, tool] of tools.entries()) {
    const score = match.scores[tool] ?? 0
    const words = match.deviation > 0 ? (score - match.mean) / match.deviation : 0
    const share = match.best > 0 ? score / match.best : 0
    const named = index.nameShare(tool, match)
    const cosine = found?.cosines[i]
    const meaning = found === undefined || cosine === undefined ? unembedded * words : (cosine - found.mean) / found.deviation
    orders[i] = (found === undefined ? words : order.cosine * meaning + order.words * words) + order.name * named + (exact.has(tool) ? first : 0)
    likely[i] = exact.has(tool) ? 1 : logistic(cosine === undefined ? scaleOfWords.base + scaleOfWords.words * share + scaleOfWords.name * named : scale.base + scale.cosine * cosine + scale.words * share)
  }
  const places = [...tools.keys()].sort((a, b) => (orders[b] ?? 0) - (orders[a] ?? 0) || (tools[a] ?? 0) - (tools[b] ?? 0))
  const scores = falling(Float64Array.from(places, place => likely[place] ?? 0))
  return places.map((place, i) => ({ tool: tools[place] ?? 0, score: Math.round((scores[i] ?? 0) * 10_000) / 10_000 }))
}

/** The numbers nearest to given ones that never rise: where they would, neighbours share their mean (pool adjacent violators). */
function falling (numbers: Float64Array): Float64Array {
  const means = new Float64Array(numbers.length)
  const counts = new Uint32Array(numbers.length)
  let pools = 0
  for (const number of numbers) {
    let sum = number
    let count = 1
    while (pools > 0 && (means[pools - 1] ?? 0) < sum / count) {
      pools--
      sum += (means[pools] ?? 0) * (counts[pools] ?? 0)
      count += counts[pools] ?? 0
    }
    means[pools] = sum / count
    counts[pools++] = count
  }
  const fallen = new Float64Array(numbers.length)
  for (let pool = 0, at = 0; pool < pools; pool++) fallen.fill(means[pool] ?? 0, at, at += counts[pool] ?? 0)
  return fallen
}

function logistic (x: number): number {
  return 1 / (1 + Math.exp(-x))
}
