import { runtimeOf, type Finding, type SkillDefinition } from '../../../kernel/index.ts'
import { findProgram } from '../../toolkit/find-program.ts'
import { howToInstall } from '../../toolkit/packages.ts'
import { targetOf } from './target.ts'

/** Finds the programs that skills of the Skill Engine are sure to start, and that are missing on this system. */
export async function examine (
  skills: readonly SkillDefinition[], path = process.env['PATH'] ?? ''
): Promise<Finding[]> {
  const users = new Map<string, Set<string>>()
  for (const skill of skills) {
    const { name, tools } = skill
    for (const tool of tools.filter(tool => runtimeOf(skill, tool) === 'skill-engine')) {
      const target = targetOf(tool)
      const [program] = 'command' in target ? target.command : []
      if (program !== undefined) users.set(program, (users.get(program) ?? new Set()).add(name))
    }
  }
  const findings: Finding[] = []
  for (const [program, names] of users) {
    if (await findProgram(program, path) !== undefined) continue
    const remedy = howToInstall(program)
    findings.push({
      level: 'problem',
      about: `command ${program}`,
      text: `it was not found; needed by ${[...names].slice(0, 4).join(', ')} of the Skill Engine`,
      ...(remedy !== undefined && { remedy })
    })
  }
  return findings
}
