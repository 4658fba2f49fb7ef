import { listSkills, schemas, type Gateway, type Skill } from '../../../kernel/index.ts'
import { quick } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

const define: DefineCommand = (command, context) => {
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: quick,
    act: (kernel, { json = false }) => list(kernel.gateway, { json }, context.terminal, context.signal)
  })
}
export default define

/** `skillet list`: the skills and their tools. */
async function list (gateway: Gateway, { json }: { json: boolean }, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const listed = await gateway.invoke(listSkills, {}, { transport: 'cli', signal })
  if (json) terminal.out(`${JSON.stringify(listed)}\n`)
  else if (listed.total === 0) terminal.out('There are no skills. Name a directory of skill folders with --skills DIR.\n')
  else terminal.out(`${listed.skills.map(paragraph).join('\n\n')}\n`)
}

function paragraph ({ name, description, tools }: Skill): string {
  const names = tools.map(tool => `${name}:${tool.name} ${usage(tool)}`.trimEnd())
  return [`${name} — ${description}`, ...tools.map((tool, i) => `  ${names[i]}\n      ${tool.description}`)].join('\n')
}

/** Required parameters as they are typed. */
function usage ({ parameters }: schemas.Tool): string {
  return parameters.filter(({ required }) => required).map(({ name }) => `${name}=…`).join(' ')
}
