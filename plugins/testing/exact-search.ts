import { definePlugin, type SkillDefinition } from '../../kernel/index.ts'

/** A search that finds by equality with a tool's name. */
export const exactSearch = definePlugin({
  name: 'search-exact',
  slot: 'search',
  setup () {
    let skills: readonly SkillDefinition[] = []
    return {
      async index (newSkills) { skills = newSkills },
      async search (query, { top_k }) {
        const results = skills.flatMap(skill => skill.tools.filter(tool => tool.name === query)
          .map(tool => ({ skill_name: skill.name, tool_name: tool.name, description: tool.description, score: 1 })))
        return { mode: 'exact', results: results.slice(0, top_k) }
      }
    }
  }
})
