import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { Choice, SkillNameAsked } from '../contracts/schemas.ts'
import { instructionsFile, listSkillFiles as list, readSkillFile as read } from '../skills/skill-files.ts'

const Path = Type.String({ description: 'Path within the folder of the skill' })

const SkillFile = Type.Object(
  { path: Path, bytes: Type.Integer({ minimum: 0 }) },
  { title: 'SkillFile', description: 'A file of a skill' }
)

export const listSkillFiles = operation({
  name: 'list_skill_files',
  effect: 'read',
  route: 'GET /api/skills/{name}/files',
  summary: 'Files of a skill',
  description: 'The files of a skill that are for who uses it: SKILL.md with its instructions, and what lies in references, assets and scripts.',
  input: Type.Object({ name: SkillNameAsked }, { additionalProperties: false }),
  output: Type.Object({ files: Type.Array(SkillFile) }),
  errors: ['SKILL_NOT_FOUND'],
  example: { input: { name: 'text' }, output: { files: [{ path: instructionsFile, bytes: 1200 }] } },
  handler: async ({ catalog }, { name }) => ({ files: await list(catalog.skill(name)) })
})

export const readSkillFile = operation({
  name: 'read_skill_file',
  effect: 'read',
  route: 'GET /api/skills/{name}/file',
  summary: 'One file of a skill',
  description: 'The content of a file that the list of files names, as text where it is UTF-8.',
  input: Type.Object(
    {
      name: SkillNameAsked,
      path: Type.String({
        minLength: 1, maxLength: 1024, default: instructionsFile, description: 'Path within the folder of the skill'
      })
    },
    { additionalProperties: false }
  ),
  output: Type.Object({
    path: Path,
    encoding: Choice(['utf-8', 'base64'], { title: 'FileEncoding', description: 'How the content is given' }),
    content: Type.String()
  }),
  errors: ['SKILL_NOT_FOUND', 'NOT_FOUND'],
  example: {
    input: { name: 'text' },
    output: { path: instructionsFile, encoding: 'utf-8', content: '---\nname: text\n---\n' }
  },
  async handler ({ catalog }, { name, path }) {
    const bytes = await read(catalog.skill(name), path)
    try {
      return {
        path,
        encoding: 'utf-8' as const,
        content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      }
    } catch {
      return { path, encoding: 'base64' as const, content: bytes.toString('base64') }
    }
  }
})
