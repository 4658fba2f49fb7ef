import { pino } from 'pino'
import type { Config, Kernel, Logger } from '../../../kernel/index.ts'
import { serving } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

const define: DefineCommand = (command, context) => {
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: serving,
    logger: createServerLogger,
    act: (kernel, { json = false }) => serve(kernel, { json }, context.terminal, context.signal)
  })
}
export default define

/** The server's log: JSON lines on standard error. */
function createServerLogger (config: Config): Logger {
  return pino({ level: config.log_level, base: null }, pino.destination({ fd: 2, sync: true }))
}

/** Says where the server is, and waits for the signal that ends it. */
async function serve (kernel: Kernel, { json }: { json: boolean }, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const [url = ''] = kernel.urls
  const { version } = kernel.gateway.version
  terminal.out(json ? `${JSON.stringify({ url, pid: process.pid, version })}\n` : `Skillet ${version} is ready at ${url}\n`)
  if (!signal.aborted) await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
}
