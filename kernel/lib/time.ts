/** The longest delay that a timer of Node takes, in milliseconds. */
export const timerMax_ms = 2_147_483_647

let last_ms = Number.NaN
let last = ''
const readBefore = { time: '', ms: Number.NaN }
const read = { time: '', ms: Number.NaN }

/**
 * A time as ISO 8601, UTC, with milliseconds. The last text is cached, because many calls have the same millisecond.
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

/** Unix milliseconds of a text from `isoTime`. The last two results are cached, because most calls repeat them. */
export function unixTime (time: string): number {
  if (time === read.time) return read.ms
  if (time === readBefore.time) return readBefore.ms
  readBefore.time = read.time
  readBefore.ms = read.ms
  read.time = time
  return read.ms = Date.parse(time)
}

/**
 * Returns a function that counts the whole seconds since a time. It reads the clock at most once a second: the result
 * is cached until a timer, which does not keep the process alive, clears it.
 * @param began_ms start time, from `performance.now()`
 */
export function secondsSince (began_ms: number): () => number {
  let seconds: number | undefined
  return () => {
    if (seconds === undefined) {
      const passed_ms = performance.now() - began_ms
      seconds = Math.floor(passed_ms / 1000)
      setTimeout(() => { seconds = undefined }, 1000 - passed_ms % 1000).unref()
    }
    return seconds
  }
}
