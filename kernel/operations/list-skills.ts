import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { Skill } from '../contracts/schemas.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import { publicSkill } from '../skills/catalog.ts'
import { exampleSkill } from './examples.ts'

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
  handler ({ catalog }, { limit, offset }) {
    const { skills, size: total } = catalog
    if (limit !== undefined || offset > 0) {
      return { skills: skills.slice(offset, limit === undefined ? undefined : offset + limit).map(publicSkill), total }
    }
    let all = whole.get(skills)
    if (all === undefined) whole.set(skills, all = Object.freeze({ skills: skills.map(publicSkill), total }))
    return all
  }
})

/** The answer with the whole list, cached for each list of skills: replaced skills are a new list. */
const whole = new WeakMap<readonly SkillDefinition[], { skills: Skill[], total: number }>()
