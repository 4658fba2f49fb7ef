import type { SkillDefinition } from '../../kernel/index.ts'
import { isNear, plain, termsOf, wordsOf } from './words.ts'

/** A tool that can be found. */
export interface Findable {
  readonly skill_name: string
  readonly tool_name: string
  readonly description: string
  readonly runtime: string
}

/** What a query's words say of each tool, by the tool's number. */
export interface Match {
  /** BM25 scores. */
  readonly scores: Float32Array
  /** What a tool would score that held each word of the query without end. */
  readonly best: number
  readonly mean: number
  readonly deviation: number
  /** The words asked for, as they are indexed. */
  readonly terms: ReadonlySet<string>
}

type Field = 'tool' | 'skill' | 'parameters' | 'description' | 'about'
const fields: readonly Field[] = ['tool', 'skill', 'parameters', 'description', 'about']
/** What a word counts by the field it stands in. A skill's description is the same for all of its tools, and tells least. */
const weights: Readonly<Record<Field, number>> = { tool: 2, skill: 1, parameters: 1, description: 1, about: 0.3 }
/** Of BM25: how fast further occurrences stop to count, and how much a long field counts less. */
const saturation = 1.5
const length_share = 0.75

/** A word that no tool has may be the beginning of one, or one that was mistyped. */
const nearly = { beginning: 0.7, mistyped: 0.5 } as const
/** The most words a query's word may stand for so. */
const nearMax = 20
/** The most words of a query that are looked for so. */
const nearWordsMax = 8
/** The most words of a query that count. */
const queryTermsMax = 256
/** Only the beginning of long texts is indexed. */
const fieldCharactersMax = 4_000

/** How long work goes on between two turns of the event loop, in milliseconds. */
const slice_ms = 5

/** A tool's name: its words, and as `plain` writes it, alone and behind its skill's. */
interface Name { words: readonly string[], alone: string, whole: string }

/** In which tools a word stands, and what it counts there, within 0..1. */
interface Postings { tools: number[], counts: number[] }

/**
 * An index of tools over the words written about them: BM25 over fields (a word's occurrences in all fields are weighed
 * and added before they saturate). Never changed once it is made. Scores are sums over arrays of numbers: for 10,000 tools
 * they take a millisecond of the main thread, which answers all else.
 */
export class LexicalIndex {
  readonly tools: readonly Findable[]
  readonly #postings: ReadonlyMap<string, Postings>
  /** By their first character, which is seldom mistyped. */
  readonly #byFirst = new Map<string, string[]>()
  readonly #names: readonly Name[]

  private constructor (tools: readonly Findable[], postings: ReadonlyMap<string, Postings>, names: readonly Name[]) {
    this.tools = tools
    this.#postings = postings
    this.#names = names
    for (const term of postings.keys()) {
      const first = term.charAt(0)
      const same = this.#byFirst.get(first)
      if (same === undefined) this.#byFirst.set(first, [term])
      else same.push(term)
    }
  }

  /** Makes an index in small steps, so that the event loop turns meanwhile. */
  static async of (skills: readonly SkillDefinition[]): Promise<LexicalIndex> {
    const pause = pauses()
    const tools: Findable[] = []
    const names: Name[] = []
    const documents: Record<Field, readonly string[]>[] = []
    const lengths: Record<Field, number> = { tool: 0, skill: 0, parameters: 0, description: 0, about: 0 }
    for (const skill of skills) {
      const ofSkill = { skill: terms(skill.name), about: terms(skill.description) }
      for (const tool of skill.tools) {
        const document = {
          ...ofSkill,
          tool: terms(tool.name),
          parameters: terms(tool.parameters.map(({ name, description }) => sameWords(name, description) ? name : `${name} ${description}`).join(' ')),
          description: terms(tool.description)
        }
        for (const field of fields) lengths[field] += document[field].length
        tools.push({ skill_name: skill.name, tool_name: tool.name, description: tool.description, runtime: skill.runtime })
        names.push({ words: [...new Set(wordsOf(tool.name, true).flatMap(({ parts }) => parts))], alone: plain(tool.name), whole: plain(`${skill.name}${tool.name}`) })
        documents.push(document)
        await pause()
      }
    }
    const postings = new Map<string, Postings>()
    for (const [number, document] of documents.entries()) {
      for (const [term, occurrences] of weigh(document, lengths, documents.length)) {
        let found = postings.get(term)
        if (found === undefined) postings.set(term, found = { tools: [], counts: [] })
        found.tools.push(number)
        found.counts.push(occurrences / (saturation + occurrences))
      }
      await pause()
    }
    return new LexicalIndex(tools, postings, names)
  }

  /** Scores all tools by the words of a query. */
  match (query: string): Match {
    const terms = queryTerms(query)
    const scores = new Float32Array(this.tools.length)
    let best = 0
    let near = 0
    for (const term of terms) {
      const weight = this.#weightOf(term)
      best += weight
      const found = this.#postings.get(term)
      if (found !== undefined) add(scores, found, weight)
      else if (near++ < nearWordsMax) this.#addNear(scores, term)
    }
    let sum = 0
    let squares = 0
    for (let i = 0; i < scores.length; i++) { // five times as fast as for…of
      const score = scores[i] ?? 0
      sum += score
      squares += score * score
    }
    const mean = sum / Math.max(1, scores.length)
    return { scores, best, mean, deviation: Math.sqrt(Math.max(0, squares / Math.max(1, scores.length) - mean * mean)), terms }
  }

  /** How much of a tool's name, by the weight of its words, is among the words of a query; within 0..1. */
  nameShare (tool: number, terms: ReadonlySet<string>): number {
    let all = 0
    let got = 0
    for (const term of this.#names[tool]?.words ?? []) {
      const weight = this.#weightOf(term)
      all += weight
      if (terms.has(term)) got += weight
    }
    return all === 0 ? 0 : got / all
  }

  /** Whether a query, as `plain` writes it, is a tool's name, alone or behind its skill's. */
  isNamed (tool: number, query: string): boolean {
    const name = this.#names[tool]
    return query !== '' && (query === name?.alone || query === name?.whole)
  }

  /** How much a word tells: more, the fewer tools have it. One that no tool has weighs like one of middling rarity. */
  #weightOf (term: string): number {
    const all = this.tools.length
    const having = this.#postings.get(term)?.tools.length ?? Math.sqrt(all)
    return Math.log(1 + (all - having + 0.5) / (having + 0.5))
  }

  /** Adds the best of the words that one may stand for. */
  #addNear (scores: Float32Array, term: string): void {
    const best = new Map<number, number>()
    for (const [other, share] of this.#nearTo(term)) {
      const weight = share * this.#weightOf(other)
      const { tools, counts } = this.#postings.get(other) ?? { tools: [], counts: [] }
      tools.forEach((tool, i) => { best.set(tool, Math.max(best.get(tool) ?? 0, weight * (counts[i] ?? 0))) })
    }
    for (const [tool, score] of best) scores[tool] = (scores[tool] ?? 0) + score
  }

  #nearTo (term: string): [string, number][] {
    const found: [string, number][] = []
    if (term.length < 3) return found
    for (const other of this.#byFirst.get(term.charAt(0)) ?? []) {
      if (other.length > term.length && other.startsWith(term)) found.push([other, nearly.beginning])
      else if (term.length > 4 && isNear(term, other)) found.push([other, nearly.mistyped])
      if (found.length === nearMax) return found
    }
    return found
  }
}

/** The words of a query, each once; those that tell nothing only when there are no others. */
function queryTerms (query: string): Set<string> {
  const telling = termsOf(query)
  const terms = telling.length > 0 ? telling : wordsOf(query, true).flatMap(({ parts }) => parts)
  return new Set(terms.slice(0, queryTermsMax))
}

/** The words of a name or text; of an identifier its parts and the whole, which is what somebody may type. */
function terms (text: string): string[] {
  return wordsOf(text.slice(0, fieldCharactersMax)).flatMap(({ whole, parts }) => parts.length > 1 ? [...parts, whole] : parts)
}

function sameWords (a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** How often each word stands in a tool's fields, by the fields' weights and lengths. */
function weigh (document: Readonly<Record<Field, readonly string[]>>, lengths: Readonly<Record<Field, number>>, documents: number): Map<string, number> {
  const occurrences = new Map<string, number>()
  for (const field of fields) {
    const words = document[field]
    const relative = words.length / Math.max(1, lengths[field] / documents)
    const each = weights[field] / (1 - length_share + length_share * relative)
    for (const word of words) occurrences.set(word, (occurrences.get(word) ?? 0) + each)
  }
  return occurrences
}

function add (scores: Float32Array, { tools, counts }: Postings, weight: number): void {
  for (let i = 0; i < tools.length; i++) {
    const tool = tools[i] ?? 0
    scores[tool] = (scores[tool] ?? 0) + weight * (counts[i] ?? 0)
  }
}

/** Lets the event loop turn when work has gone on for long enough. */
function pauses (): () => Promise<void> | undefined {
  let since_ms = performance.now()
  return () => {
    if (performance.now() - since_ms < slice_ms) return undefined
    return new Promise(resolve => {
      setImmediate(() => {
        since_ms = performance.now()
        resolve()
      })
    })
  }
}
