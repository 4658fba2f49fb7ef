import { Type } from 'typebox'
import { abortSignalOf, oneLine, parameterLines, queryMax, SearchMode, withInstances } from '../../../kernel/index.ts'
import { agentTool } from './agent-tool.ts'

/**
 * How long a search waits for the embedding model while the model is loaded or embeds tools, in milliseconds: an agent
 * seldom repeats a search.
 */
const patience_ms = 1_000

/** The longest that all parameters in an answer may be together, in characters. */
const parametersMax = 20_000

/** Finds tools, with all the data that a call of them needs. */
export const searchSkillsForAgents = agentTool({
  name: 'search_skills',
  effect: 'read',
  annotations: { read_only: true, open_world: false },
  title: 'Search tools of skills',
  description: 'Find tools for a task, described in words. Begin here. Answers with the best tools first, each with the skill_name, tool_name and parameters that execute needs, or query where it is read_only.',
  input: Type.Object({
    query: Type.String({
      minLength: 1, maxLength: queryMax, description: 'The task in words, such as "commits of a git repository"'
    }),
    top_k: Type.Integer({ minimum: 1, maximum: 100, default: 5 })
  }, { additionalProperties: false }),
  example: { query: 'commits of a git repository' },
  output: Type.Object({
    results: Type.Array(Type.Object({
      skill_name: Type.String(),
      tool_name: Type.String(),
      description: Type.String(),
      score: Type.Number(),
      read_only: Type.Optional(Type.Boolean({ description: 'Whether query runs it' })),
      instances: Type.Optional(Type.Array(Type.String(), { description: 'Use as skill_name' })),
      parameters: Type.Optional(Type.Array(Type.String(), { description: 'Absent where there was no room' }))
    })),
    mode: SearchMode
  }),
  async handler ({ catalog, search }, { query, top_k }, { signal }) {
    const options = { top_k, patience_ms }
    const { results, mode } = await search.search(query, options, abortSignalOf(signal))
    let room = parametersMax
    return {
      mode,
      results: withInstances(results, catalog.skills).map(result => {
        const { skill_name, tool_name, description, score, instances } = result
        const tool = catalog.skills.find(({ name }) => name === skill_name)
          ?.tools.find(({ name }) => name === tool_name)
        const parameters = tool === undefined ? [] : parameterLines(tool)
        room -= parameters.join('').length
        return {
          skill_name,
          tool_name,
          description: oneLine(description, 300),
          score: Math.round(score * 1000) / 1000,
          ...(tool?.annotations?.read_only === true && { read_only: true }),
          ...(instances !== undefined && { instances }),
          ...(tool !== undefined && room > 0 && { parameters })
        }
      })
    }
  }
})
