let last_ms = Number.NaN
let last = ''

/** A time as ISO 8601, UTC, to the millisecond. Many are asked for in the same one. @param ms Unix milliseconds, default now */
export function isoTime (ms: number = Date.now()): string {
  const whole_ms = Math.round(ms)
  if (whole_ms !== last_ms) {
    last = new Date(whole_ms).toISOString()
    last_ms = whole_ms
  }
  return last
}
