import { listSkills, type Skill } from '../../../kernel/index.ts'
import { quick } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../input-options.ts'
import { align, plain } from '../layout.ts'
import { usage } from '../target.ts'
import type { Terminal } from '../terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet list`: the skills and their tools. */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, listSkills)
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: quick,
    async act ({ gateway }, { json = false }) {
      const { terminal, signal } = context
      const listed = await gateway.invoke(listSkills, input(), { transport: 'cli', signal })
      if (json) terminal.out(`${JSON.stringify(listed)}\n`)
      else if (listed.total === 0) terminal.out('There are no skills. Name a directory of skill folders with --skills DIR, or make a skill with skillet init NAME.\n')
      else terminal.out(listed.skills.map(skill => paragraph(skill, terminal)).join('\n'))
    }
  })
}
export default define

function paragraph ({ name, description, tools }: Skill, { colors: { out }, columns }: Terminal): string {
  const rows = tools.map(tool => [{ text: `${name}:${tool.name} ${usage(tool)}`.trimEnd(), style: out.cyan }, tool.description])
  return `${out.bold(name)} — ${plain(description)}\n${align(rows, { columns, indent: '  ', widthMax: 40 })}`
}
