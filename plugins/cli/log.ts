import type { Logger } from '../../kernel/index.ts'

/** For commands that a person waits for: warnings and errors as plain lines on standard error. */
export function createTextLogger (write: (line: string) => void): Logger {
  const method = (severity: string) => (fields: Record<string, unknown>, message: string): void => {
    const context = Object.entries(fields).map(([key, value]) => `${key}: ${String(value)}`).join(', ')
    write(`${severity}: ${message}${context === '' ? '' : ` (${context})`}`)
  }
  const logger: Logger = { debug () {}, info () {}, warn: method('warning'), error: method('error'), child: () => logger }
  return logger
}
