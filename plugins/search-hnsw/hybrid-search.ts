import { LRUCache } from 'lru-cache'
import {
  pauses, type Search, type SearchAnswer, type SearchOptions, type SearchState, type SkillDefinition
} from '../../kernel/index.ts'
import { Best } from './words/best.ts'
import type { Embedder } from './meaning/embedder.ts'
import { LexicalIndex, type Match } from './words/lexical-index.ts'
import { essenceOf } from './meaning/query.ts'
import type { Question } from './meaning/questions.ts'
import { rank, type Ranking } from './ranking.ts'
import { inWords } from './words/words.ts'

/** The minimum number of candidates that each half, words and meaning, contributes. */
const candidatesMin = 64
/** The maximum number of answers that are cached. */
const answersMax = 1_000
/** The share of tools that must be embedded before meaning counts. The other tools are ranked by their words. */
const embeddedShare = 0.9

type Allows = NonNullable<SearchOptions['allows']>

/** The tools that can be found at this moment. */
interface Findables {
  readonly lexical: LexicalIndex
  /** The text of each tool for the embedding. */
  readonly texts: readonly string[]
  /** The numbers of the tools that callers with restricted rights may find, by their rights. */
  readonly allowed: WeakMap<Allows, Uint32Array>
}

/**
 * Search by words and by meaning. Until the model is ready, and when it can't be loaded, the search uses words alone. A
 * new index is made while the old index still serves; when two indexes are made at the same time, the one that was
 * requested later is kept.
 */
export class HybridSearch implements Search {
  /** Undefined when the search uses words alone. */
  readonly #embedder: Embedder | undefined
  readonly #answers = new LRUCache<string, SearchAnswer>({ max: answersMax })
  readonly #rights = new WeakMap<Allows, number>()
  #rightsSeen = 0
  #requests = 0
  #serving = 0
  #current: Findables | undefined
  #state: SearchState

  constructor (embedder: Embedder | undefined) {
    this.#embedder = embedder
    this.#state = { mode: 'lexical', model: embedder === undefined ? 'none' : 'idle', indexed: 0, total: 0 }
  }

  async index (skills: readonly SkillDefinition[]): Promise<void> {
    const request = ++this.#requests
    const lexical = await LexicalIndex.of(skills)
    const texts: string[] = []
    const pause = pauses()
    for (const { tool_name, description } of lexical.tools) {
      texts.push(`${inWords(tool_name)}: ${description}`)
      await pause()
    }
    if (request < this.#serving) return
    this.#serving = request
    this.#current = { lexical, texts, allowed: new WeakMap() }
    // In one turn of the event loop, so that the numbers of tools mean the same here and in the thread.
    this.#embedder?.index(this.#current.texts)
    this.changed()
  }

  state (): SearchState {
    return this.#state
  }

  /** Must be called when the state of the embedder or the tools have changed. */
  changed (): void {
    const model = this.#embedder?.state ?? 'none'
    const indexed = this.#embedder?.indexed ?? 0
    const total = this.#current?.texts.length ?? 0
    const stays = model === 'indexing' && this.#state.mode === 'hybrid' && indexed >= total * embeddedShare
    const hybrid = model === 'ready' || stays
    this.#state = Object.freeze({ mode: hybrid ? 'hybrid' : 'lexical', model, indexed, total })
    this.#answers.clear()
  }

  prepare (): void {
    this.#embedder?.start()
  }

  async search (text: string, options: SearchOptions, signal: AbortSignal): Promise<SearchAnswer> {
    signal.throwIfAborted()
    const query = essenceOf(text)
    if (this.#embedder !== undefined && this.#current !== undefined && this.#current.texts.length > 0) {
      this.#embedder.start()
      const { patience_ms = 0 } = options
      if (patience_ms > 0) await this.#embedder.settled(patience_ms, signal)
      signal.throwIfAborted()
    }
    const key = this.#keyOf(query, options)
    const cached = this.#answers.get(key)
    if (cached !== undefined) return cached
    const current = this.#current
    if (current === undefined) return { mode: 'lexical', results: [] }
    const answer = await this.#answer(query, options, current, signal)
    // An answer by words alone, which was given because the model was busy, must not be cached.
    if (current === this.#current && answer.mode === this.#state.mode) this.#answers.set(key, answer)
    return answer
  }

  async #answer (
    query: string, { top_k, min_score = 0, ...filter }: SearchOptions, current: Findables, signal: AbortSignal
  ): Promise<SearchAnswer> {
    const { lexical } = current
    const among = allowedBy(filter, current)
    const wanted = Math.max(candidatesMin, top_k)
    const question = this.#ask(query, wanted, among) // the thread embeds the query while the words are searched here
    try {
      const match = lexical.match(query)
      try {
        const byWords = best(match, wanted, among)
        const byMeaning = await question?.compare(byWords, signal)
        const ranking = rank(byWords, query, lexical, match, byMeaning, top_k)
        return { mode: byMeaning === undefined ? 'lexical' : 'hybrid', results: resultsOf(ranking, min_score, lexical) }
      } finally {
        lexical.release(match)
      }
    } finally {
      question?.close()
    }
  }

  #ask (query: string, nearest: number, among: Uint32Array | undefined): Question | undefined {
    if (this.#state.mode !== 'hybrid' || !/[\p{L}\p{N}]/u.test(query)) return undefined
    return this.#embedder?.ask({ text: readable(query), nearest, ...(among !== undefined && { among }) })
  }

  #keyOf (query: string, { top_k, min_score, skills, runtime, allows }: SearchOptions): string {
    let rights = 0
    if (allows !== undefined) {
      rights = this.#rights.get(allows) ?? ++this.#rightsSeen
      this.#rights.set(allows, rights)
    }
    return JSON.stringify([query, top_k, min_score, skills, runtime, rights])
  }
}

/** The numbers of the tools that pass a filter; undefined when all tools pass. */
function allowedBy (
  { skills, runtime, allows }: Omit<SearchOptions, 'top_k'>, current: Findables
): Uint32Array | undefined {
  const { tools } = current.lexical
  const allowed = allows === undefined ? undefined : rightsOf(allows, current)
  if (skills === undefined && runtime === undefined) return allowed
  const names = skills === undefined ? undefined : new Set(skills)
  const fits = (number: number): boolean => {
    const tool = tools[number]
    if (tool === undefined || names?.has(tool.skill_name) === false) return false
    return runtime === undefined || tool.runtime === runtime
  }
  return (allowed ?? Uint32Array.from(tools.keys())).filter(fits)
}

/** The tools that a caller has a right to; each tool is checked once. */
function rightsOf (allows: Allows, { lexical: { tools }, allowed }: Findables): Uint32Array {
  let numbers = allowed.get(allows)
  if (numbers === undefined) {
    numbers = Uint32Array.from(tools.keys()).filter(number => {
      const tool = tools[number]
      return tool !== undefined && allows(tool.skill_name, tool.tool_name)
    })
    allowed.set(allows, numbers)
  }
  return numbers
}

function resultsOf ({ tools, scores }: Ranking, min_score: number, index: LexicalIndex): SearchAnswer['results'] {
  const results: SearchAnswer['results'] = []
  for (let i = 0; i < tools.length; i++) {
    const tool = index.tools[tools[i] ?? 0]
    const score = scores[i] ?? 0
    if (score < min_score) break // the scores are in descending order
    if (tool === undefined) continue
    const { skill_name, tool_name, description } = tool
    results.push({ skill_name, tool_name, description, score })
  }
  return results
}

/** The tools with the highest scores by words; tools without a score are left out. */
function best ({ scores }: Match, wanted: number, among: Uint32Array | undefined): Uint32Array {
  const kept = new Best(wanted)
  const count = among?.length ?? scores.length
  for (let i = 0; i < count; i++) {
    const tool = among?.[i] ?? i
    const score = scores[tool] ?? 0
    if (score > 0) kept.offer(tool, score)
  }
  return Uint32Array.from(kept.sorted())
}

/** A query without control characters and lone surrogates. */
function readable (query: string): string {
  return query.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim()
}
