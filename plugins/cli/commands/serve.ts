import { pino } from 'pino'
import type { Config, Kernel, Logger, LogLevel } from '../../../kernel/index.ts'
import { serving } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { localTime } from '../terminal/layout.ts'
import { createTextLogger } from '../terminal/log.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

const define: DefineCommand = (command, context) => {
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: serving,
    logger: config => createServerLogger(config, context.terminal),
    act: (kernel, { json = false }) => serve(kernel, { json }, context.terminal, context.signal)
  })
}
export default define

/**
 * The server's log on standard error: readable lines if standard error is a terminal, otherwise JSON lines for
 * programs.
 */
function createServerLogger (
  { log_level }: Config,
  { watched, colors: { err: { dim, red, yellow } }, err }: Terminal
): Logger {
  if (!watched) return pino({ level: log_level, base: null }, pino.destination({ fd: 2, sync: true }))
  const styles: Record<LogLevel, (
    label: string
  ) => string> = { debug: dim, info: label => label, warn: yellow, error: red }
  return createTextLogger(line => { err(`${line}\n`) }, {
    level: log_level,
    style: (level, label) => styles[level](label),
    prefix: () => `${dim(localTime(new Date().toISOString()).slice(11))} `
  })
}

/** Prints the address of the server, and waits for the signal that ends it. */
async function serve (
  kernel: Kernel, { json }: { json: boolean }, terminal: Terminal, signal: AbortSignal
): Promise<void> {
  const [url = ''] = kernel.urls
  const { version } = kernel.gateway.version
  terminal.out(
    json ? `${JSON.stringify({ url, pid: process.pid, version })}\n` : `Skillet ${version} is ready at ${url}\n`
  )
  if (!signal.aborted) {
    await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
  }
}
