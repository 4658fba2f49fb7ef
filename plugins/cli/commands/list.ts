import { listSkills, type QuarantinedSkill, type Skill } from '../../../kernel/index.ts'
import { quick } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../options/input-options.ts'
import { align, paragraph } from '../terminal/layout.ts'
import { brokenTools, usage } from '../options/target.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet list`: lists the skills and their tools. */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, listSkills)
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: quick,
    async act ({ gateway }, { json = false }) {
      const { terminal, signal } = context
      const listed = await gateway.invoke(listSkills, input(), { transport: 'cli', signal })
      if (json) {
        terminal.out(`${JSON.stringify(listed)}\n`)
      } else if (listed.total === 0) {
        terminal.out('There are no skills. Name a directory of skill folders with --skills DIR, or make a skill with skillet init NAME.\n')
      } else {
        const broken = await brokenTools(gateway, { transport: 'cli', signal })
        terminal.out(
          listed.skills.map(skill => skillText(skill, broken.filter(({ name }) => name === skill.name), terminal))
            .join('\n')
        )
      }
    }
  })
}
export default define

function skillText (
  { name, description, tools }: Skill,
  broken: readonly QuarantinedSkill[],
  { colors: { out }, columns }: Terminal
): string {
  const rows = [
    ...tools.map(tool =>
      [{ text: `${name}:${tool.name} ${usage(tool)}`.trimEnd(), style: out.cyan }, tool.description]),
    ...broken.map(({ tool = '', error }) =>
      [{ text: `${name}:${tool}`, style: out.red }, `could not be loaded: ${error}`])
  ]
  return paragraph([{ text: name, style: out.bold }, ` — ${description}`], { columns })
    + align(rows, { columns, indent: '  ', widthMax: 40 })
}
