import type { LexicalIndex, Match } from './lexical-index.ts'
import type { Found } from './protocol.ts'
import { plain } from './words.ts'

/**
 * What puts tools in order: how far a query's cosine and its BM25 score stand above those of all tools, in deviations,
 * and how much of the tool's name is in the query. The weights are rounded; figures of six public sets of tools, by three of
 * which they were not chosen, hardly change around them.
 */
const order = { cosine: 0.65, words: 0.35, name: 0.5 } as const
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
 * @param found what the model says; absent: words alone
 */
export function rank (candidates: Iterable<number>, query: string, index: LexicalIndex, match: Match, found: Found | undefined): Ranked[] {
  const cosines = new Map<number, number>()
  found?.tools.forEach((tool, i) => { cosines.set(tool, found.cosines[i] ?? 0) })
  const name = plain(query)
  const judged = Array.from(candidates, tool => {
    const score = match.scores[tool] ?? 0
    const words = match.deviation > 0 ? (score - match.mean) / match.deviation : 0
    const share = match.best > 0 ? score / match.best : 0
    const named = index.nameShare(tool, match.terms)
    const cosine = cosines.get(tool)
    const meaning = found === undefined ? 0 : cosine === undefined ? unembedded * words : (cosine - found.mean) / found.deviation
    return {
      tool,
      exact: index.isNamed(tool, name),
      order: (found === undefined ? words : order.cosine * meaning + order.words * words) + order.name * named,
      likely: logistic(cosine === undefined ? scaleOfWords.base + scaleOfWords.words * share + scaleOfWords.name * named : scale.base + scale.cosine * cosine + scale.words * share)
    }
  })
  judged.sort((a, b) => Number(b.exact) - Number(a.exact) || b.order - a.order || a.tool - b.tool)
  const scores = falling(judged.map(({ exact, likely }) => exact ? 1 : likely))
  return judged.map(({ tool }, i) => ({ tool, score: Math.round((scores[i] ?? 0) * 10_000) / 10_000 }))
}

/** The numbers nearest to given ones that never rise: where they would, neighbours share their mean (pool adjacent violators). */
function falling (numbers: readonly number[]): number[] {
  const pools: { sum: number, count: number }[] = []
  for (const number of numbers) {
    let pool = { sum: number, count: 1 }
    for (let last = pools.at(-1); last !== undefined && last.sum / last.count < pool.sum / pool.count; last = pools.at(-1)) {
      pools.pop()
      pool = { sum: last.sum + pool.sum, count: last.count + pool.count }
    }
    pools.push(pool)
  }
  return pools.flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count))
}

function logistic (x: number): number {
  return 1 / (1 + Math.exp(-x))
}
