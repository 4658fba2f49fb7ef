const unit_ms = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * A time as people give it, as ISO 8601 UTC: how long ago (`2h`), a local day (its beginning), a time with or without a
 * zone (local). What is none of these comes back as it was, for validation to refuse.
 * @param now_ms Unix milliseconds
 */
export function timeOf (text: string, now_ms: number = Date.now()): string {
  const ago = /^(\d{1,6})([smhd])$/.exec(text)
  if (ago !== null) return new Date(now_ms - Number(ago[1]) * unit_ms[ago[2] as keyof typeof unit_ms]).toISOString()
  const local = /^(\d{4}-\d\d-\d\d)([T ](\d\d:\d\d(:\d\d(\.\d{1,9})?)?))?$/.exec(text)
  const ms = local === null ? NaN : Date.parse(`${local[1]}T${local[3] ?? '00:00'}`)
  return Number.isNaN(ms) ? text : new Date(ms).toISOString()
}
