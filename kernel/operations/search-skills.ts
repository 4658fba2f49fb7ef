import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { splitInstance } from '../contracts/names.ts'
import { SearchResult, SkillNameAsked } from '../contracts/schemas.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import { instanceNames } from '../skills/instances.ts'
import { abortSignalOf } from '../lib/cancel.ts'

/** The longest query, in characters: users paste whole pages, and agents paste logs. */
export const queryMax = 65_536

export const SearchMode = Type.String({
  description: '`hybrid`: by words and meaning; `lexical`: by words alone, while the model is not ready or can\'t be'
})

export const searchSkills = operation({
  name: 'search_skills',
  effect: 'read',
  route: 'POST /api/search',
  summary: 'Search tools',
  description: 'Finds tools for a query in words, best first. A score says how likely a tool is one that the query asks for, and means the same from query to query; exact names come first.',
  input: Type.Object({
    query: Type.String({
      minLength: 1,
      maxLength: queryMax,
      description: 'What is wanted, in words. Of a long text its beginning and its end count'
    }),
    top_k: Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Most results wanted' }),
    min_score: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: 'Leaves out results with a lower score' })
    ),
    skills: Type.Optional(
      Type.Array(SkillNameAsked, { minItems: 1, maxItems: 500, description: 'Only tools of these skills' })
    ),
    runtime: Type.Optional(Type.String({
      minLength: 1, maxLength: 64, description: 'Only tools of skills with this runtime, such as native or script'
    }))
  }, { additionalProperties: false }),
  output: Type.Object({
    results: Type.Array(SearchResult),
    mode: SearchMode
  }),
  errors: [],
  example: {
    input: { query: 'count the words of a text', top_k: 1 },
    output: {
      results: [{
        skill_name: 'text',
        tool_name: 'count',
        description: 'Count the characters, words and lines of a text',
        score: 0.95
      }],
      mode: 'hybrid'
    }
  },
  async handler ({ catalog, search, search_patience_ms }, { query, skills, ...options }, { signal }) {
    const { mode, results } = await search.search(query, {
      ...options,
      ...(skills !== undefined && { skills: skills.map(name => splitInstance(name).skill) }),
      patience_ms: search_patience_ms
    }, abortSignalOf(signal))
    return { mode, results: withInstances(results, catalog.skills) }
  }
})

/** The results, with the instances of the skills that have any: a tool is found once, whatever its instances. */
export function withInstances (results: SearchResult[], skills: readonly SkillDefinition[]): SearchResult[] {
  const names = instancesIn(skills)
  if (names.size === 0) return results
  return results.map(result => {
    const instances = names.get(result.skill_name)
    return instances === undefined ? result : { ...result, instances }
  })
}

/** The names of instances by skill, for each list of skills: replaced skills are a new list. */
const known = new WeakMap<readonly SkillDefinition[], ReadonlyMap<string, string[]>>()

function instancesIn (skills: readonly SkillDefinition[]): ReadonlyMap<string, string[]> {
  let names = known.get(skills)
  if (names === undefined) {
    names = new Map(skills.flatMap((skill): [string, string[]][] => {
      const of = instanceNames(skill)
      return of === undefined ? [] : [[skill.name, of]]
    }))
    known.set(skills, names)
  }
  return names
}
