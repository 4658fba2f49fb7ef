import type { LogLevel } from '../../../kernel/index.ts'

/** The level of a log message of a server, which may have any of syslog's. */
export function logLevelOf (level: string): LogLevel {
  switch (level) {
    case 'debug': return 'debug'
    case 'info': case 'notice': return 'info'
    case 'warning': return 'warn'
    default: return 'error'
  }
}
