import type { SearchResult } from './schemas.ts'
import type { SearchState } from './status.ts'
import type { SkillDefinition } from './skill.ts'

export interface SearchAnswer {
  /**
   * The search method that produced the results: `hybrid` (words and meaning), `lexical` (words alone), or the name
   * that a further plugin gives to its own method.
   */
  mode: string
  /** The results, best first. Scores are within 0..1, and a score means the same for every query. */
  results: SearchResult[]
}

/** Options of a search, beside the query. */
export interface SearchOptions {
  /** Maximum number of results, 1 to 100. */
  top_k: number
  /** Leaves out results with a lower score. */
  min_score?: number
  /** Only tools of these skills. */
  skills?: readonly string[]
  /** Only tools of skills with this runtime. */
  runtime?: string
  /**
   * Only tools for which this function returns true: it expresses the rights of a key. The function object stays the
   * same as long as the rights stay the same.
   */
  allows?: (skill_name: string, tool_name: string) => boolean
  /**
   * How long the search may wait for a better method that is still getting ready, in milliseconds. By default the
   * search answers at once with the method that is ready.
   */
  patience_ms?: number
}

/** Finds tools for a query in words. */
export interface Search {
  /**
   * Replaces the indexed skills. A skill that did not change since the last call is the same object. Resolves when some
   * method can find these skills; better methods may become ready later.
   */
  index (skills: readonly SkillDefinition[]): Promise<void>
  search (query: string, options: SearchOptions, signal: AbortSignal): Promise<SearchAnswer>
  /** Starts the work that the next search would wait for. Cheap when that work was started before. */
  prepare? (): void
  /** The present state of the search. Synchronous and cheap; returns the same object until the state changes. */
  state? (): SearchState
}
