import MiniSearch, { type SearchResult as Hit } from 'minisearch'
import type { SearchResult, SkillDefinition } from '../../kernel/index.ts'
import { termsOf, wordsOf, type Word } from './words.ts'

interface Document { id: number, tool: string, skill: string, description: string, parameters: string, about: string }
type Field = 'tool' | 'skill' | 'description' | 'parameters' | 'about'

/** What a word is worth by the best field it is found in: names say more than descriptions. */
const worth: Record<Field, number> = { tool: 1, skill: 1, description: 0.8, parameters: 0.6, about: 0.5 }
const boost: Record<Field, number> = { tool: 3, skill: 2, description: 1.5, parameters: 0.6, about: 0.5 }
/** A word that is only nearly there. */
const nearly = { prefix: 0.7, fuzzy: 0.5 }

/** How long documents are added between two turns of the event loop, in milliseconds. */
const slice_ms = 5
/** The most words of a query that count; the rarest are kept. */
const queryWordsMax = 48
/** How many of the best matches get their score worked out, at least. */
const candidatesMin = 50

/** An index of tools over what is written about them. Never changed once it is made. */
export class LexicalIndex {
  readonly #engine: MiniSearch<Document>
  readonly #tools: readonly Omit<SearchResult, 'score'>[]
  /** In how many tools a term is. */
  readonly #frequency: ReadonlyMap<string, number>

  private constructor (engine: MiniSearch<Document>, tools: readonly Omit<SearchResult, 'score'>[], frequency: ReadonlyMap<string, number>) {
    this.#engine = engine
    this.#tools = tools
    this.#frequency = frequency
  }

  /** Makes an index in small steps, so that the event loop turns meanwhile. */
  static async of (skills: readonly SkillDefinition[]): Promise<LexicalIndex> {
    const frequency = new Map<string, number>()
    // Each text is asked for twice, and what is said of a skill for each of its tools.
    const known = new Map<string, string[]>()
    const terms = (text: string): string[] => {
      let found = known.get(text)
      if (found === undefined) known.set(text, found = termsOf(text))
      return found
    }
    const engine = new MiniSearch<Document>({
      fields: ['tool', 'skill', 'description', 'parameters', 'about'],
      tokenize: terms,
      processTerm: term => term,
      searchOptions: { tokenize: text => text.split(' '), combineWith: 'OR', boost }
    })
    const tools: Omit<SearchResult, 'score'>[] = []
    let since_ms = performance.now()
    for (const skill of skills) {
      for (const tool of skill.tools) {
        const document = {
          id: tools.length,
          tool: tool.name,
          skill: skill.name,
          description: tool.description,
          parameters: tool.parameters.map(parameter => parameter.name).join(' '),
          about: skill.description
        }
        engine.add(document)
        count(document, terms, frequency)
        tools.push({ skill_name: skill.name, tool_name: tool.name, description: tool.description })
        if (performance.now() - since_ms < slice_ms) continue
        await new Promise(resolve => { setImmediate(resolve) })
        since_ms = performance.now()
      }
    }
    known.clear() // the engine keeps the function, and with it the map
    return new LexicalIndex(engine, tools, frequency)
  }

  /**
   * The best tools for a query. A score says how much of the query a tool answers: each word weighs by how rare it is
   * among the tools, and counts by where and how well it is found (1 in a name, less in a description, a parameter or the
   * skill's description, less again for a beginning or a near spelling). So it means the same from query to query: 1 is a
   * query all of whose words are in the tool's and skill's names, 0 one of which nothing is found. Among tools that answer
   * as much, the order is BM25's, which moves a score by a tenth at most.
   */
  search (query: string, top_k: number): SearchResult[] {
    const words = this.#wordsOf(query)
    if (words.length === 0) return []
    const terms = new Set(words.flatMap(({ whole, parts }) => parts.length > 1 ? [whole, ...parts] : parts))
    const hits = this.#engine.search([...terms].join(' '), {
      prefix: term => !this.#frequency.has(term) && term.length > 2,
      fuzzy: term => !this.#frequency.has(term) && term.length > 4 && 1,
      weights: nearly
    })
    const [best] = hits
    if (best === undefined) return []
    const weight = new Map([...terms].map(term => [term, this.#weightOf(term)]))
    return hits.slice(0, Math.max(candidatesMin, 2 * top_k))
      .map(hit => ({ hit, score: answered(hit, words, weight) * (0.9 + 0.1 * hit.score / best.score) }))
      .sort((a, b) => b.score - a.score || b.hit.score - a.hit.score || Number(a.hit.id) - Number(b.hit.id))
      .slice(0, top_k)
      .flatMap(({ hit, score }) => {
        const tool = this.#tools[Number(hit.id)]
        return tool === undefined ? [] : [{ ...tool, score: Math.min(1, Math.round(score * 10_000) / 10_000) }]
      })
  }

  /** The words of a query, each once; those that tell nothing only when there are no others. */
  #wordsOf (query: string): Word[] {
    const telling = wordsOf(query)
    const words = [...new Map((telling.length > 0 ? telling : wordsOf(query, true)).map(word => [word.whole, word])).values()]
    if (words.length <= queryWordsMax) return words
    const rarity = ({ whole, parts }: Word): number => Math.max(...[whole, ...parts].map(term => this.#frequency.get(term) === undefined ? 0 : this.#weightOf(term)))
    return words.sort((a, b) => rarity(b) - rarity(a)).slice(0, queryWordsMax)
  }

  /** How much a term tells. One that is in no tool tells what is missing, and weighs like one of middling rarity. */
  #weightOf (term: string): number {
    const all = this.#tools.length
    const found = this.#frequency.get(term) ?? Math.sqrt(all)
    return Math.log(1 + (all - found + 0.5) / (found + 0.5)) + 0.1
  }
}

function count ({ id: _id, ...texts }: Document, terms: (text: string) => string[], frequency: Map<string, number>): void {
  for (const term of new Set(Object.values(texts).flatMap(terms))) frequency.set(term, (frequency.get(term) ?? 0) + 1)
}

/** The share of a query that a hit answers, by the weight of its words. */
function answered (hit: Hit, words: readonly Word[], weight: ReadonlyMap<string, number>): number {
  const quality = new Map<string, number>()
  for (const [found, fields] of Object.entries(hit.match)) {
    const best = Math.max(...fields.map(field => worth[field as Field])) // the fields are those of the engine above
    for (const asked of hit.queryTerms) {
      const how = asked === found ? 1 : found.startsWith(asked) ? nearly.prefix : isNear(asked, found) ? nearly.fuzzy : 0
      quality.set(asked, Math.max(quality.get(asked) ?? 0, how * best))
    }
  }
  let total = 0
  let got = 0
  for (const { whole, parts } of words) {
    const weights = parts.map(part => weight.get(part) ?? 0)
    const inAll = weights.reduce((sum, weight) => sum + weight, 0)
    total += inAll
    got += Math.max((quality.get(whole) ?? 0) * inAll, parts.reduce((sum, part, i) => sum + (quality.get(part) ?? 0) * (weights[i] ?? 0), 0))
  }
  return total === 0 ? 0 : got / total
}

/** Whether two terms differ by one character, as far as a fuzzy match is concerned. */
function isNear (asked: string, found: string): boolean {
  if (Math.abs(asked.length - found.length) > 1) return false
  let start = 0
  while (start < asked.length && asked[start] === found[start]) start++
  let end = 0
  while (end < Math.min(asked.length, found.length) - start && asked.at(-1 - end) === found.at(-1 - end)) end++
  return Math.max(asked.length, found.length) - start - end <= 1
}
