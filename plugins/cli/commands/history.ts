import { listExecutions, type ExecutionSummary } from '../../../kernel/index.ts'
import { looking, UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { follow } from '../follow.ts'
import { executionsIn } from '../history-care.ts'
import { defineExport } from '../history/export.ts'
import { defineImport } from '../history/import.ts'
import { addInputOptions } from '../options/input-options.ts'
import { executionLines } from '../terminal/execution-lines.ts'
import { filterNames, resolveTimes, timesHelp } from '../time.ts'
import { actWithKernel } from '../with-kernel.ts'

/**
 * `skillet history`: lists executions, newest first; with `--follow` oldest first, and then new ones as they appear.
 * `skillet history export` and `import` write the records to a file, and read them from it.
 */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, listExecutions, { names: filterNames })
  command
    .option('--follow', 'go on with what is run from now on, in whatever process, until Ctrl-C')
    .addHelpText('after', timesHelp)
  command.enablePositionalOptions() // the commands below have flags of the same names
  defineExport(command.command('export'), context)
  defineImport(command.command('import'), context)
  actWithKernel<{ json?: boolean, follow?: boolean }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false, follow: following = false }) {
      const { terminal, signal } = context
      const query = resolveTimes(input())
      if (following) {
        if (query['created_before'] !== undefined) throw new UsageError('--until and --follow exclude each other')
        if (query['text'] !== undefined) throw new UsageError('--text and --follow exclude each other')
        const show = (
          execution: ExecutionSummary
        ): void => { terminal.out(json ? `${JSON.stringify(execution)}\n` : executionLines([execution], terminal)) }
        await follow(gateway, query, show, AbortSignal.any([signal, terminal.unread]))
        signal.throwIfAborted()
        return
      }
      const page = await gateway.invoke(listExecutions, query, { transport: 'cli', signal })
      if (page.unindexed !== undefined) {
        terminal.err(terminal.colors.err.dim(`${executionsIn(page.unindexed)} before these are not in the index of words yet; search again for more\n`))
      }
      if (json) terminal.out(`${JSON.stringify(page)}\n`)
      else if (page.executions.length === 0) terminal.out('Nothing was run that fits.\n')
      else {
        terminal.out(executionLines(page.executions, terminal))
        if (page.next_cursor !== undefined && terminal.watched) {
          terminal.err(terminal.colors.err.dim(`${page.executions.length} of ${page.total}; the next: --cursor ${page.next_cursor}\n`))
        }
      }
    }
  })
}
export default define
