import { Type } from 'typebox'
import { abortSignalOf } from '../cancel.ts'
import { operation } from '../operation.ts'
import { SearchResult } from '../schemas.ts'

export const searchSkills = operation({
  name: 'search_skills',
  effect: 'read',
  route: 'POST /api/search',
  summary: 'Search tools',
  description: 'Finds tools for a query in words, best first.',
  input: Type.Object({
    query: Type.String({ minLength: 1, maxLength: 2000, description: 'What is wanted, in words' }),
    top_k: Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Most results wanted' })
  }, { additionalProperties: false }),
  output: Type.Object({
    results: Type.Array(SearchResult),
    mode: Type.String({ description: 'Which method served it' })
  }),
  errors: [],
  example: {
    input: { query: 'count the words of a text', top_k: 1 },
    output: { results: [{ skill_name: 'text', tool_name: 'count', description: 'Count the characters, words and lines of a text', score: 0.95 }], mode: 'lexical' }
  },
  handler: ({ search }, { query, top_k }, { signal }) => search.search(query, top_k, abortSignalOf(signal))
})
