import { Type } from 'typebox'
import { publicSkill } from '../catalog.ts'
import { operation } from '../operation.ts'
import { Skill } from '../schemas.ts'
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
    const skills = catalog.skills.slice(offset, limit === undefined ? undefined : offset + limit)
    return { skills: skills.map(publicSkill), total: catalog.size }
  }
})
