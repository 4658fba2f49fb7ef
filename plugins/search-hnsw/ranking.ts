import type { LexicalIndex, Match } from './words/lexical-index.ts'
import type { Found } from './meaning/protocol.ts'

/**
 * The weights of the order: of the cosine and the BM25 score, in standard deviations above the mean of all tools, and
 * of the share of the tool's name in the query. The weights are rounded. Small changes of them hardly change the
 * results for six public sets of tools, of which three were not used to choose the weights.
 */
const order = { cosine: 0.65, words: 0.35, name: 0.5 } as const
/** The lead of a tool whose name is the query: more than all other weights together. */
const first = 1_000_000
/** The share of the words' value that a tool without a vector gets as the value of its meaning. */
const unembedded = 0.5
/**
 * The weights of the score: a logistic function of values that are comparable between queries. It was fitted to those
 * sets, each with its own queries and with queries of other sets, so that right and wrong answers count the same.
 */
const scale = { cosine: 8.5, words: 10, base: -4 } as const
/** The weights of the score for a tool without a cosine. */
const scaleOfWords = { words: 14, name: 2.3, base: -2.2 } as const

/** Tools, the best first, and their scores. */
export interface Ranking { tools: readonly number[], scores: readonly number[] }

/**
 * Arrays that are reused for each call: new arrays for each query would cost time for garbage collection on the main
 * thread.
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
 * Sorts candidates, the best first, with descending scores. Tools whose name is the query come first, with score 1.
 * @param byWords the candidates by words; the tools of `byMeaning` are candidates too
 * @param byMeaning the result of the model; undefined: words alone
 * @param most the maximum number of returned tools
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
 * The scores of the tools in these places, changed as little as possible so that they never rise: neighbours in the
 * wrong order get their mean (pool adjacent violators). At most `most` scores, rounded.
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
