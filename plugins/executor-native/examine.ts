import { access, constants, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { runtimeOf, type Finding, type SkillDefinition } from '../../kernel/index.ts'
import { howToInstall } from '../toolkit/packages.ts'
import { programOf } from './locate.ts'

/** Finds commands that native skills need and that are missing on this system, each with the tools that need it. */
export async function examine (
  skills: readonly SkillDefinition[],
  path = process.env['PATH'] ?? ''
): Promise<Finding[]> {
  const users = new Map<string, string[]>()
  for (const skill of skills) {
    const { name, directory } = skill
    for (const definition of skill.tools) {
      const { name: tool, command } = definition
      if (command === undefined || runtimeOf(skill, definition) !== 'native') continue
      const program = programOf(command.program, directory)
      const toolNames = users.get(program) ?? []
      users.set(program, toolNames)
      toolNames.push(`${name}:${tool}`)
    }
  }
  const findings: Finding[] = []
  let installed = 0
  for (const [program, tools] of users) {
    if (await isThere(program, path)) installed++
    else {
      const remedy = howToInstall(program)
      findings.push({
        level: 'problem',
        about: `command ${program}`,
        text: `it was not found; needed by ${few(tools)}`,
        ...(remedy !== undefined && { remedy })
      })
    }
  }
  if (installed > 0) {
    findings.unshift({
      level: 'ok', about: 'commands', text: `${installed} of ${users.size} that native tools start are there`
    })
  }
  return findings
}

/** Finds a program as the system does: a path is used as it is, and a name is looked up in the folders of PATH. */
async function isThere (program: string, path: string): Promise<boolean> {
  const files = isAbsolute(program)
    ? [program]
    : path.split(delimiter).map(folder => join(folder === '' ? '.' : folder, program))
  for (const file of files) {
    const executable = await access(file, constants.X_OK).then(async () => (await stat(file)).isFile(), () => false)
    if (executable) return true
  }
  return false
}

function few (names: readonly string[]): string {
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
}
