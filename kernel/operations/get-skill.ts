import { Type } from 'typebox'
import { publicSkill } from '../skills/catalog.ts'
import { operation } from '../contracts/operation.ts'
import { Skill, SkillNameAsked } from '../contracts/schemas.ts'
import { exampleSkill } from './examples.ts'

export const getSkill = operation({
  name: 'get_skill',
  effect: 'read',
  route: 'GET /api/skills/{name}',
  summary: 'Skill details',
  description: 'One skill, with its tools and their parameters.',
  input: Type.Object({ name: SkillNameAsked }, { additionalProperties: false }),
  output: Type.Object({ ...Skill.properties }),
  errors: ['SKILL_NOT_FOUND'],
  example: { input: { name: 'text' }, output: exampleSkill },
  handler: ({ catalog }, { name }) => publicSkill(catalog.skill(name))
})
