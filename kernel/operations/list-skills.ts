import { Type } from 'typebox'
import { publicSkill } from '../catalog.ts'
import { oneLine, parameterLines, withinBudget } from '../agent.ts'
import type { SkillDefinition } from '../manifest.ts'
import { agentTool, operation } from '../operation.ts'
import { Choice, Skill, type Tool } from '../schemas.ts'
import { exampleSkill } from './examples.ts'

/** The longest list an agent is given at once, in characters. */
const answerMax = 40_000

/** The tools of a skill for an agent. One skill may have more than fit; how many is said. */
function toolsOf (tools: readonly Tool[], full: boolean): { tools: { name: string, description: string, parameters?: string[] }[], more_tools?: number } {
  const shown = withinBudget(tools.map(tool => ({ name: tool.name, description: oneLine(tool.description), ...(full && { parameters: parameterLines(tool) }) })), answerMax)
  return { tools: shown, ...(shown.length < tools.length && { more_tools: tools.length - shown.length }) }
}

export const listSkills = operation({
  name: 'list_skills',
  effect: 'read',
  route: 'GET /api/skills',
  summary: 'List installed skills',
  description: 'All installed skills with their tools, by name. Without `limit`, all of them.',
  input: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Page size; all skills where absent' })),
    offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, description: 'Skills to skip' })
  }, { additionalProperties: false }),
  output: Type.Object({
    skills: Type.Array(Skill),
    total: Type.Integer({ minimum: 0, description: 'How many skills there are in all' })
  }),
  errors: [],
  example: { input: { limit: 1 }, output: { skills: [exampleSkill], total: 3 } },
  agent: agentTool({
    name: 'list_skills',
    effect: 'read',
    title: 'List skills',
    description: 'List the installed skills. Use it to see what there is; to find a tool for a task, search_skills is quicker.',
    input: Type.Object({
      limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
      offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
      detail: Choice(['names', 'tools', 'full'], { default: 'names', description: 'names: a line each; tools: with their tools; full: and parameters' })
    }, { additionalProperties: false }),
    example: { detail: 'tools' },
    output: Type.Object({
      skills: Type.Array(Type.Object({
        name: Type.String(),
        description: Type.String(),
        tools: Type.Optional(Type.Array(Type.Object({ name: Type.String(), description: Type.String(), parameters: Type.Optional(Type.Array(Type.String())) }))),
        more_tools: Type.Optional(Type.Integer())
      })),
      total: Type.Integer(),
      next_offset: Type.Optional(Type.Integer())
    }),
    handler ({ catalog }, { limit, offset, detail }) {
      const page = catalog.skills.slice(offset, offset + limit).map(({ name, description, tools }) => ({
        name,
        description: oneLine(description),
        ...(detail !== 'names' && toolsOf(tools, detail === 'full'))
      }))
      const skills = withinBudget(page, answerMax)
      const next = offset + skills.length
      return { skills, total: catalog.size, ...(skills.length > 0 && next < catalog.size && { next_offset: next }) }
    }
  }),
  handler ({ catalog }, { limit, offset }) {
    const { skills, size: total } = catalog
    if (limit !== undefined || offset > 0) return { skills: skills.slice(offset, limit === undefined ? undefined : offset + limit).map(publicSkill), total }
    let all = whole.get(skills)
    if (all === undefined) whole.set(skills, all = Object.freeze({ skills: skills.map(publicSkill), total }))
    return all
  }
})

/** The whole list, by the skills in it: it is made anew when they are. */
const whole = new WeakMap<readonly SkillDefinition[], { skills: Skill[], total: number }>()
