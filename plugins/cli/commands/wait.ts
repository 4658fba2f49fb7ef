import { getExecution, isFinal, resultOf, SkilletError, waitMax_s, type Execution } from '../../../kernel/index.ts'
import { looking, UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { steady } from '../terminal/layout.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet wait ID`: waits for the end of an execution of any process, and prints its output as `run` does. */
const define: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the execution')
    .option('--timeout <seconds>', 'how long to wait; until its end where absent')
  actWithKernel<{ json?: boolean, timeout?: string }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false, timeout }, [id = '']) {
      const { terminal, signal } = context
      const until_ms = performance.now() + secondsOf(timeout) * 1_000
      const call = { transport: 'cli', signal: AbortSignal.any([signal, terminal.unread]) }
      let execution: Execution
      do {
        const left_s = Math.max(0, Math.ceil((until_ms - performance.now()) / 1_000))
        execution = await gateway.invoke(getExecution, { id, wait: Math.min(left_s, waitMax_s) }, call)
        call.signal.throwIfAborted()
      } while (!isFinal(execution.status) && performance.now() < until_ms)
      if (json) terminal.out(`${JSON.stringify(execution)}\n`)
      else if (execution.output !== '') {
        const output = terminal.shown ? steady(execution.output) : execution.output
        terminal.out(output.endsWith('\n') ? output : `${output}\n`)
      }
      if (!isFinal(execution.status)) {
        const details = { execution_id: id, status: execution.status }
        throw new SkilletError('TIMEOUT', `The execution is still ${execution.status}`, details)
      }
      resultOf(execution)
    }
  })
}
export default define

function secondsOf (timeout: string | undefined): number {
  const seconds = timeout === undefined ? Number.POSITIVE_INFINITY : Number(timeout)
  if (Number.isNaN(seconds) || seconds < 0) {
    throw new UsageError(`--timeout must be a number of seconds, not "${timeout}"`)
  }
  return seconds
}
