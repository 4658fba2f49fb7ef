import {
  getExecution, pendingApproval, type approveExecution, type denyExecution, type Execution
} from '../../kernel/index.ts'
import { looking } from './boot.ts'
import type { DefineCommand } from './command.ts'
import { parametersText } from './terminal/parameters-text.ts'
import { steady } from './terminal/layout.ts'
import { actWithKernel } from './with-kernel.ts'

interface Options { json?: boolean, digest?: string, reason?: string }

/** Defines a command that decides on what an execution waits for. @param done what it did, in a word */
export function decides (operation: typeof approveExecution | typeof denyExecution, done: string): DefineCommand {
  return (command, context) => {
    command
      .argument('<id>', 'the execution')
      .option('--reason <text>', 'why, for the record')
      .option('--digest <digest>', 'only if it still waits for this, as `skillet approvals --json` shows it')
    actWithKernel<Options>(command, context, {
      needs: looking,
      async act ({ gateway }, { json = false, digest, reason }, [id = '']) {
        const call = { transport: 'cli', signal: context.signal }
        const asked = await gateway.invoke(getExecution, { id }, call)
        const input = {
          id,
          // What waits for nothing is refused whatever is given here.
          digest: digest ?? pendingApproval(asked)?.digest ?? 'none',
          ...(reason !== undefined && { note: reason })
        }
        const execution = await gateway.invoke(operation, input, call)
        context.terminal.out(json ? `${JSON.stringify(execution)}\n` : `${nameOf(execution)} was ${done}\n`)
      }
    })
  }
}

function nameOf ({ skill_name, tool_name, parameters }: Execution): string {
  return steady(`${skill_name}:${tool_name} ${parametersText(parameters)}`)
}
