import type { SearchResult, SearchState } from './schemas.ts'
import type { SkillDefinition } from './skill.ts'

export interface SearchAnswer {
  /**
   * Which method served it: `hybrid` (words and meaning), `lexical` (words alone), or what a further plugin calls its
   * own.
   */
  mode: string
  /** Best first; scores within 0..1, which mean the same from query to query. */
  results: SearchResult[]
}

/** What is wanted of a search, beyond the query. */
export interface SearchOptions {
  /** Most results wanted, 1 to 100. */
  top_k: number
  /** Leaves out results with a lower score. */
  min_score?: number
  /** Only tools of these skills. */
  skills?: readonly string[]
  /** Only tools of skills with this runtime. */
  runtime?: string
  /** Only tools for which this holds: the rights of a key. The same function as long as the rights are the same. */
  allows?: (skill_name: string, tool_name: string) => boolean
  /**
   * How long it may wait for a better method that is still getting ready, in milliseconds; by default it answers at
   * once with what it has.
   */
  patience_ms?: number
}

/** Finds tools for a query in words. */
export interface Search {
  /**
   * Replaces what can be found; skills that did not change since the last call are the same objects. Resolves when that
   * can be found by some method; better ones may follow.
   */
  index (skills: readonly SkillDefinition[]): Promise<void>
  search (query: string, options: SearchOptions, signal: AbortSignal): Promise<SearchAnswer>
  /** A search will come soon: starts what it would wait for. Cheap where that was started before. */
  prepare? (): void
  /** How far it is. Synchronous and cheap; the same object until it changes. */
  state? (): SearchState
}
