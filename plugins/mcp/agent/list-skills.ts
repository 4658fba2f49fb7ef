import { Type } from 'typebox'
import { instanceNames, oneLine, parameterLines, schemas, type Tool } from '../../../kernel/index.ts'
import { agentTool } from './agent-tool.ts'
import { withinBudget } from './words.ts'

/** The longest list that an agent gets in one answer, in characters. */
const answerMax = 40_000

/** The tools of a skill for an agent. The tools of one skill may not fit; then their number is given. */
function toolsOf (
  tools: readonly Tool[],
  full: boolean
): { tools: { name: string, description: string, parameters?: string[] }[], more_tools?: number } {
  const shown = withinBudget(
    tools.map(tool =>
      ({ name: tool.name, description: oneLine(tool.description), ...(full && { parameters: parameterLines(tool) }) })),
    answerMax
  )
  return { tools: shown, ...(shown.length < tools.length && { more_tools: tools.length - shown.length }) }
}

/** Lists skills, in as much detail as the agent asks for. */
export const listSkillsForAgents = agentTool({
  name: 'list_skills',
  effect: 'read',
  annotations: { read_only: true, open_world: false },
  title: 'List skills',
  description: 'List the installed skills. Use it to see what there is; to find a tool for a task, search_skills is quicker.',
  input: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
    offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
    detail: schemas.Choice(['names', 'tools', 'full'], {
      default: 'names',
      description: 'names: a line each; tools: with their tools; full: and parameters'
    })
  }, { additionalProperties: false }),
  example: { detail: 'tools' },
  output: Type.Object({
    skills: Type.Array(Type.Object({
      name: Type.String(),
      description: Type.String(),
      instances: Type.Optional(Type.Array(Type.String(), { description: 'Use as skill_name' })),
      tools: Type.Optional(Type.Array(Type.Object({
        name: Type.String(), description: Type.String(), parameters: Type.Optional(Type.Array(Type.String()))
      }))),
      more_tools: Type.Optional(Type.Integer())
    })),
    total: Type.Integer(),
    next_offset: Type.Optional(Type.Integer())
  }),
  handler ({ catalog }, { limit, offset, detail }) {
    const page = catalog.skills.slice(offset, offset + limit).map(skill => {
      const { name, description, tools } = skill
      const instances = instanceNames(skill)
      return {
        name,
        description: oneLine(description),
        ...(instances !== undefined && { instances }),
        ...(detail !== 'names' && toolsOf(tools, detail === 'full'))
      }
    })
    const skills = withinBudget(page, answerMax)
    const next = offset + skills.length
    return { skills, total: catalog.size, ...(skills.length > 0 && next < catalog.size && { next_offset: next }) }
  }
})
