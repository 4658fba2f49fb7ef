import { cancelExecution, cancelExecutions, type Gateway, type JsonObject } from '../../../kernel/index.ts'
import { looking, UsageError } from '../boot.ts'
import type { CommandContext, DefineCommand } from '../command.ts'
import { addInputOptions } from '../options/input-options.ts'
import { executionLines } from '../terminal/execution-lines.ts'
import { filterNames, resolveTimes, timesHelp } from '../time.ts'
import { actWithKernel } from '../with-kernel.ts'

interface CancelOptions { json?: boolean, dryRun?: boolean }

/**
 * `skillet cancel ID`: cancels an execution, whichever process runs it, and waits for its end. With filters in place of
 * the ID, such as `--skill git`, it cancels all that match.
 */
const define: DefineCommand = (command, context) => {
  command.argument('[id]', 'the execution; filters in its place cancel all that match')
  const input = addInputOptions(command, cancelExecutions, { names: filterNames, without: ['dry_run'] })
  command
    .option('--dry-run', 'only say which executions match')
    .addHelpText('after', timesHelp)
  actWithKernel<CancelOptions>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false, dryRun = false }, [id]) {
      const query = resolveTimes(input())
      if (id === undefined) return await cancelMatching(gateway, { ...query, dry_run: dryRun }, json, context)
      if (dryRun || Object.keys(query).length > 0) throw new UsageError('give an ID or filters, not both')
      await cancelOne(gateway, id, json, context)
    }
  })
}
export default define

async function cancelOne (
  gateway: Gateway, id: string, json: boolean, { terminal, signal }: CommandContext
): Promise<void> {
  const execution = await gateway.invoke(cancelExecution, { id }, { transport: 'cli', signal })
  const outcome = execution.status === 'cancelled'
    ? 'was cancelled'
    : `was asked to end, and is still ${execution.status}`
  terminal.out(json ? `${JSON.stringify(execution)}\n` : `${execution.skill_name}:${execution.tool_name} ${outcome}\n`)
}

async function cancelMatching (
  gateway: Gateway, input: JsonObject & { dry_run: boolean }, json: boolean, { terminal, signal }: CommandContext
): Promise<void> {
  const { status, skill_name, tool_name, created_from, created_before } = input
  if ([status, skill_name, tool_name, created_from, created_before].every(filter => filter === undefined)) {
    throw new UsageError('say what is cancelled: an ID, or filters such as --status running --skill git')
  }
  const answer = await gateway.invoke(cancelExecutions, input, { transport: 'cli', signal })
  if (json) return terminal.out(`${JSON.stringify(answer)}\n`)
  const { matched, cancelled, executions } = answer
  terminal.out(executionLines(executions, terminal))
  const many = `${matched} ${matched === 1 ? 'execution matches' : 'executions match'}`
  terminal.err(input.dry_run ? `${many}. Nothing was cancelled\n` : `${many}; ${cancelled} cancelled\n`)
  const more = matched - executions.length
  if (more > 0) terminal.err(`${more} more match: call it again for the next\n`)
}
