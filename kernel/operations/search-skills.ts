import { Type } from 'typebox'
import { oneLine, parameterLines } from '../agent.ts'
import { abortSignalOf } from '../cancel.ts'
import { agentTool, operation } from '../operation.ts'
import { SearchResult, SkillNameAsked } from '../schemas.ts'

/**
 * How long a search waits for the model, in milliseconds, while that is loaded or embeds tools. A command asks once and ends:
 * it has no second search that would find the model loaded. An agent seldom asks twice for the same.
 */
const patience_ms = { command: 10_000, agent: 1_000 }

/** The longest query, in characters: people paste pages, and agents logs. */
const queryMax = 65_536

/** How long all parameters together may be in an answer for an agent, in characters. */
const parametersMax = 20_000

const mode = Type.String({
  description: '`hybrid`: by words and meaning; `lexical`: by words alone, while the model is not ready or can\'t be'
})

export const searchSkills = operation({
  name: 'search_skills',
  effect: 'read',
  route: 'POST /api/search',
  summary: 'Search tools',
  description: 'Finds tools for a query in words, best first. A score says how likely a tool is one that the query asks for, and means the same from query to query; exact names come first.',
  input: Type.Object({
    query: Type.String({ minLength: 1, maxLength: queryMax, description: 'What is wanted, in words. Of a long text its beginning and its end count' }),
    top_k: Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Most results wanted' }),
    min_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'Leaves out results with a lower score' })),
    skills: Type.Optional(Type.Array(SkillNameAsked, { minItems: 1, maxItems: 500, description: 'Only tools of these skills' })),
    runtime: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only tools of skills with this runtime, such as native or script' }))
  }, { additionalProperties: false }),
  output: Type.Object({
    results: Type.Array(SearchResult),
    mode
  }),
  errors: [],
  example: {
    input: { query: 'count the words of a text', top_k: 1 },
    output: { results: [{ skill_name: 'text', tool_name: 'count', description: 'Count the characters, words and lines of a text', score: 0.95 }], mode: 'hybrid' }
  },
  agent: agentTool({
    name: 'search_skills',
    effect: 'read',
    title: 'Search tools of skills',
    description: 'Find tools for a task, described in words. Begin here. Answers with the best tools first, each with the skill_name, tool_name and parameters that execute needs.',
    input: Type.Object({
      query: Type.String({ minLength: 1, maxLength: queryMax, description: 'The task in words, such as "commits of a git repository"' }),
      top_k: Type.Integer({ minimum: 1, maximum: 100, default: 5 })
    }, { additionalProperties: false }),
    example: { query: 'commits of a git repository' },
    output: Type.Object({
      results: Type.Array(Type.Object({
        skill_name: Type.String(),
        tool_name: Type.String(),
        description: Type.String(),
        score: Type.Number(),
        parameters: Type.Optional(Type.Array(Type.String(), { description: 'Absent where there was no room' }))
      })),
      mode
    }),
    async handler ({ catalog, search }, { query, top_k }, { signal }) {
      const options = { top_k, patience_ms: patience_ms.agent }
      const { results, mode } = await search.search(query, options, abortSignalOf(signal))
      let room = parametersMax
      return {
        mode,
        results: results.map(({ skill_name, tool_name, description, score }) => {
          const found = catalog.skills.find(({ name }) => name === skill_name)?.tools.find(({ name }) => name === tool_name)
          const parameters = found === undefined ? [] : parameterLines(found)
          room -= parameters.join('').length
          return { skill_name, tool_name, description: oneLine(description, 300), score: Math.round(score * 1000) / 1000, ...(found !== undefined && room > 0 && { parameters }) }
        })
      }
    }
  }),
  handler: ({ search }, { query, ...options }, { transport, signal }) =>
    search.search(query, { ...options, patience_ms: transport === 'cli' ? patience_ms.command : 0 }, abortSignalOf(signal))
})
