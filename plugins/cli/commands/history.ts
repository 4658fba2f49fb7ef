import { listExecutions, type ExecutionSummary } from '../../../kernel/index.ts'
import { looking, UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { follow } from '../follow.ts'
import { addInputOptions } from '../options/input-options.ts'
import { align, duration, localTime, type Cell } from '../terminal/layout.ts'
import { statusStyle } from '../status.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { timeOf } from '../time.ts'
import { actWithKernel } from '../with-kernel.ts'

const names = { skill_name: 'skill', tool_name: 'tool', created_from: 'since', created_before: 'until' }

/**
 * `skillet history`: lists executions, newest first; with `--follow` oldest first, and then new ones as they appear.
 */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, listExecutions, { names })
  command
    .option('--follow', 'go on with what is run from now on, in whatever process, until Ctrl-C')
    .addHelpText('after', '\nTimes are ISO 8601, a local day or time such as 2026-01-02 or 2026-01-02T03:04, or how long ago: 90s, 30m, 2h, 7d.')
  actWithKernel<{ json?: boolean, follow?: boolean }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false, follow: following = false }) {
      const { terminal, signal } = context
      const query = input()
      for (const field of ['created_from', 'created_before']) {
        if (typeof query[field] === 'string') query[field] = timeOf(query[field])
      }
      if (following) {
        if (query['created_before'] !== undefined) throw new UsageError('--until and --follow exclude each other')
        const show = (
          execution: ExecutionSummary
        ): void => { terminal.out(json ? `${JSON.stringify(execution)}\n` : lines([execution], terminal)) }
        await follow(gateway, query, show, AbortSignal.any([signal, terminal.unread]))
        signal.throwIfAborted()
        return
      }
      const page = await gateway.invoke(listExecutions, query, { transport: 'cli', signal })
      if (json) terminal.out(`${JSON.stringify(page)}\n`)
      else if (page.executions.length === 0) terminal.out('Nothing was run that fits.\n')
      else {
        terminal.out(lines(page.executions, terminal))
        if (page.next_cursor !== undefined && terminal.watched) {
          terminal.err(terminal.colors.err.dim(`${page.executions.length} of ${page.total}; the next: --cursor ${page.next_cursor}\n`))
        }
      }
    }
  })
}
export default define

function lines (executions: readonly ExecutionSummary[], { colors: { out }, columns }: Terminal): string {
  return align(executions.map(({ id, created_at, status, duration_ms, skill_name, tool_name }): (Cell | string)[] => [
    { text: localTime(created_at), style: out.dim },
    { text: status.padEnd(11), style: statusStyle(status, out) },
    (status === 'queued' || status === 'running' ? '' : duration(duration_ms)).padStart(8),
    `${skill_name}:${tool_name}`.padEnd(20),
    { text: id, style: out.dim }
  ]), { columns })
}
