import type { ErrorKind } from '../../kernel/index.ts'

/** The exit status for each kind of error. */
export const EXIT_CODES = {
  tool_failed: 1,
  invalid: 2,
  range: 2,
  missing: 3,
  timed_out: 4,
  unauthenticated: 5,
  forbidden: 5,
  method: 5,
  size: 5,
  media_type: 5,
  conflict: 5,
  limited: 5,
  overloaded: 5,
  interrupted: 5,
  internal: 5
} as const satisfies Record<ErrorKind, number>

/** An error in the command line itself, or in the configuration. */
export const EXIT_USAGE = EXIT_CODES.invalid
/** Ctrl-C: 128 plus the number of SIGINT. */
export const EXIT_INTERRUPTED = 130
/**
 * Standard output was closed by its reader, and the run was cancelled for that: 128 plus the number of SIGPIPE, which
 * ends other programs.
 */
export const EXIT_UNREAD = 141
