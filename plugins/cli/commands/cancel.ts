import { cancelExecution } from '../../../kernel/index.ts'
import { looking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet cancel ID`: cancels an execution, whichever process runs it, and waits for its end. */
const define: DefineCommand = (command, context) => {
  command.argument('<id>', 'the execution')
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false }, [id = '']) {
      const execution = await gateway.invoke(cancelExecution, { id }, { transport: 'cli', signal: context.signal })
      const outcome = execution.status === 'cancelled'
        ? 'was cancelled'
        : `was asked to end, and is still ${execution.status}`
      context.terminal.out(
        json ? `${JSON.stringify(execution)}\n` : `${execution.skill_name}:${execution.tool_name} ${outcome}\n`
      )
    }
  })
}
export default define
