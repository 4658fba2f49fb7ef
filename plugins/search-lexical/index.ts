import { definePlugin, type Search } from '../../kernel/index.ts'
import { LexicalIndex } from './lexical-index.ts'

/**
 * Search by words: over names of skills, tools and parameters, with identifiers split, and over descriptions. A new index is
 * made beside the old one, which serves until it is whole; when two are made at once, the later asked for stays.
 */
export default definePlugin({
  name: 'search-lexical',
  slot: 'search',
  setup (): Search {
    let asked = 0
    let serving = 0
    let current: LexicalIndex | undefined
    return {
      async index (skills) {
        const turn = ++asked
        const made = await LexicalIndex.of(skills)
        if (turn < serving) return
        serving = turn
        current = made
      },
      async search (query, top_k, signal) {
        signal.throwIfAborted()
        return { mode: 'lexical', results: current?.search(query, top_k) ?? [] }
      }
    }
  }
})
