import { silentLogger, type Config, type Kernel, type Logger } from '../../../kernel/index.ts'
import { createTextLogger } from '../log.ts'
import type { Terminal } from '../terminal.ts'

/** Warnings and errors as lines on standard error, which clients keep in a log. */
export function createAgentLogger ({ log_level }: Config, terminal: Terminal): Logger {
  return log_level === 'silent' ? silentLogger : createTextLogger(line => { terminal.err(`${line}\n`) })
}

/** Serves until the client leaves, or a signal comes. */
export async function serveAgent (kernel: Kernel, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const stopped = new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
  await Promise.race([kernel.ended, stopped])
}
