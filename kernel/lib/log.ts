type LogMethod = (fields: Record<string, unknown>, message: string) => void

/** The logger that the kernel and the plugins write to: structured fields and a message. Pino fits it. */
export interface Logger {
  debug: LogMethod
  info: LogMethod
  warn: LogMethod
  error: LogMethod
  child (fields: Record<string, unknown>): Logger
}

/** A logger that drops everything. */
export const silentLogger: Logger = { debug () {}, info () {}, warn () {}, error () {}, child: () => silentLogger }
