import { silentLogger } from '../../../kernel/index.ts'
import { speaking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { createTextLogger } from '../terminal/log.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet mcp`: serves until the client disconnects, or a signal arrives. */
const define: DefineCommand = (command, context) => {
  const { signal, terminal } = context
  actWithKernel(command, context, {
    needs: speaking,
    // Clients write standard error to a log.
    logger: ({ log_level }) =>
      log_level === 'silent' ? silentLogger : createTextLogger(line => { terminal.err(`${line}\n`) }),
    async act (kernel) {
      if (signal.aborted) return
      const stopped = new Promise<void>(resolve => {
        signal.addEventListener('abort', () => { resolve() }, { once: true })
      })
      await Promise.race([kernel.ended, stopped])
    }
  })
}
export default define
