import type { LogLevel, Logger } from '../../../kernel/index.ts'
import { steady } from './layout.ts'
import type { Terminal } from './terminal.ts'

const severities = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]
const labels: Readonly<Record<LogLevel, string>> = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' }

/** The options of a text logger. */
export interface TextLogOptions {
  /** The least severe level that is written. Default: warnings. */
  level?: LogLevel | 'silent'
  /** Colours the label of a line. */
  style?: (level: LogLevel, label: string) => string
  /** The beginning of each line, such as the time. */
  prefix?: () => string
}

/** The logger of most commands: warnings and errors are lines on standard error. */
export function loggerTo ({ err, watched }: Pick<Terminal, 'err' | 'watched'>): Logger {
  return createTextLogger(line => { err(`${watched ? steady(line) : line}\n`) })
}

/** A logger for a person who watches standard error: plain lines with the event and, in brackets, the details. */
export function createTextLogger (
  write: (line: string) => void,
  { level: least = 'warn', style = (_, label) => label, prefix = () => '' }: TextLogOptions = {}
): Logger {
  const from = least === 'silent' ? severities.length : severities.indexOf(least)
  const method = (level: LogLevel) => (fields: Record<string, unknown>, message: string): void => {
    if (severities.indexOf(level) < from) return
    // Details that the message contains already are left out.
    const details = Object.entries(fields)
      .filter(([, value]) => value !== undefined && !(typeof value === 'string' && message.includes(value)))
    const more = details.map(([key, value]) => `${key}: ${textOf(value)}`).join(', ')
    write(`${prefix()}${style(level, labels[level])}: ${message}${more === '' ? '' : ` (${more})`}`)
  }
  const logger: Logger = {
    debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error'), child: () => logger
  }
  return logger
}

/** A detail in words: lists with commas, no JSON. */
function textOf (value: unknown): string {
  if (value instanceof Error) return value.message
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(textOf).join(', ')
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).map(([key, inner]) => `${key} ${textOf(inner)}`).join(', ')
  }
  return String(value)
}
