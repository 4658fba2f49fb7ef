/**
 * What the process that reads a database is sent, on standard input. It answers on standard output, or says what is
 * wrong on standard error.
 */
export interface Request {
  /** Absolute path, without symbolic links. */
  database: string
  sql: string
  /** Values of `?` in the query. */
  values: readonly (string | number)[]
  /** `rows`: as JSON, one a line; `lines`: the first column, one a line. */
  format: 'rows' | 'lines'
}

/** The longest answer, in characters; rows beyond it are left out, and that is said. */
export const answerMax = 1_000_000
/** How long the process lives at most, should nobody end it: longer than any tool's own time limit, in milliseconds. */
export const life_ms = 60_000
/** The most memory of the process, in bytes. */
export const memoryBytesMax = 1_073_741_824
