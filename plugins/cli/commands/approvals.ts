import { listApprovals } from '../../../kernel/index.ts'
import { looking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../options/input-options.ts'
import { align, localTime, paragraph, steady } from '../terminal/layout.ts'
import { parametersText } from '../terminal/parameters-text.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

type Page = Awaited<ReturnType<typeof listApprovals.handler>>

/** `skillet approvals`: lists what waits until a person approves or denies it. */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, listApprovals)
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false }) {
      const { terminal, signal } = context
      const page = await gateway.invoke(listApprovals, input(), { transport: 'cli', signal })
      if (json) terminal.out(`${JSON.stringify(page)}\n`)
      else if (page.approvals.length === 0) terminal.out('Nothing waits for an approval.\n')
      else terminal.out(page.approvals.map(approval => shown(approval, terminal)).join('\n'))
      if (!json && page.next_cursor !== undefined && terminal.watched) {
        terminal.err(terminal.colors.err.dim(`There are more: --cursor ${page.next_cursor}\n`))
      }
    }
  })
}
export default define

function shown (approval: Page['approvals'][number], { colors: { out }, columns }: Terminal): string {
  const { execution_id, skill_name, tool_name, parameters, preview, reason, key, transport } = approval
  const title = [{ text: `${skill_name}:${tool_name}`, style: out.bold }, ' ', { text: execution_id, style: out.dim }]
  const given = parameters === undefined ? `long: skillet show ${execution_id}` : parametersText(parameters)
  const rows = [
    ['parameters', steady(given)],
    ...(preview === undefined ? [] : [['preview', steady(preview)]]),
    ['asked by', `${transport}${key === null ? '' : ` with the key ${key}`}`],
    ['because of', reason],
    ['until', localTime(approval.expires_at)],
    ['decide', `skillet approve ${execution_id}, or skillet deny ${execution_id}`]
  ]
  return `${paragraph(title, { columns })}${align(rows, { columns })}`
}
