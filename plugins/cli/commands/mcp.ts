import { silentLogger } from '../../../kernel/index.ts'
import { speaking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { createTextLogger } from '../terminal/log.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet mcp`: serves until the client leaves, or a signal comes. */
const define: DefineCommand = (command, context) => {
  const { signal, terminal } = context
  actWithKernel(command, context, {
    needs: speaking,
    // Clients keep what is on standard error in a log.
    logger: ({ log_level }) => log_level === 'silent' ? silentLogger : createTextLogger(line => { terminal.err(`${line}\n`) }),
    async act (kernel) {
      if (signal.aborted) return
      const stopped = new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
      await Promise.race([kernel.ended, stopped])
    }
  })
}
export default define
