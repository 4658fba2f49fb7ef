import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Finding, SkillDefinition } from '../../../kernel/index.ts'
import { howToInstall } from '../../toolkit/packages.ts'
import { targetOf } from './target.ts'

/** Finds the programs that skills of the Skill Engine are sure to start, and that are missing on this system. */
export async function examine (
  skills: readonly SkillDefinition[], path = process.env['PATH'] ?? ''
): Promise<Finding[]> {
  const users = new Map<string, Set<string>>()
  for (const { name, runtime, tools } of skills) {
    for (const tool of runtime === 'skill-engine' ? tools : []) {
      const target = targetOf(tool)
      const [program] = 'command' in target ? target.command : []
      if (program !== undefined) users.set(program, (users.get(program) ?? new Set()).add(name))
    }
  }
  const findings: Finding[] = []
  for (const [program, names] of users) {
    if (await isThere(program, path)) continue
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

async function isThere (program: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder === '' ? '.' : folder, program)
    if (await access(file, constants.X_OK).then(() => true, () => false)) return true
  }
  return false
}
