import { STATUS_CODES } from 'node:http'
import type { ErrorKind } from '../../../kernel/index.ts'

/** The HTTP status of each kind of error. A new kind of error does not compile until it has a status. */
export const STATUS = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  method: 405,
  conflict: 409,
  size: 413,
  media_type: 415,
  range: 416,
  tool_failed: 422,
  limited: 429,
  internal: 500,
  overloaded: 503,
  interrupted: 503,
  timed_out: 504
} as const satisfies Record<ErrorKind, number>

/** The text in the first line of a reply, such as `404 Not Found`. */
export function statusLine (status: number): string {
  return lines.get(status) ?? `${status} Unknown`
}

const lines = new Map(Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]))
