type LogMethod = (fields: Record<string, unknown>, message: string) => void

/** The logger that the kernel and the plugins write to: structured fields and a message. A Pino logger fits. */
export interface Logger {
  debug: LogMethod
  info: LogMethod
  warn: LogMethod
  error: LogMethod
  child (fields: Record<string, unknown>): Logger
}

/** A logger that writes nothing. */
export const silentLogger: Logger = { debug () {}, info () {}, warn () {}, error () {}, child: () => silentLogger }
