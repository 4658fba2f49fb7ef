let last_ms = Number.NaN
let last = ''
const readBefore = { time: '', ms: Number.NaN }
const read = { time: '', ms: Number.NaN }

/**
 * A time as ISO 8601, UTC, to the millisecond. Many are asked for in the same one.
 * @param ms Unix milliseconds, default now
 */
export function isoTime (ms: number = Date.now()): string {
  const whole_ms = Math.round(ms)
  if (whole_ms !== last_ms) {
    last = new Date(whole_ms).toISOString()
    last_ms = whole_ms
  }
  return last
}

/** Unix milliseconds of a time as `isoTime` writes it. The last two are kept: most are asked for again and again. */
export function unixTime (time: string): number {
  if (time === read.time) return read.ms
  if (time === readBefore.time) return readBefore.ms
  readBefore.time = read.time
  readBefore.ms = read.ms
  read.time = time
  return read.ms = Date.parse(time)
}

/**
 * Counts the whole seconds since a time. However often it is asked, it looks at the clock once a second: what it said
 * holds until a timer, which keeps no process alive, has it look again.
 * @param began_ms by `performance.now()`
 */
export function secondsSince (began_ms: number): () => number {
  let said: number | undefined
  return () => {
    if (said === undefined) {
      const passed_ms = performance.now() - began_ms
      said = Math.floor(passed_ms / 1000)
      setTimeout(() => { said = undefined }, 1000 - passed_ms % 1000).unref()
    }
    return said
  }
}
