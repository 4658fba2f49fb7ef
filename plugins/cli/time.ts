import type { JsonObject } from '../../kernel/index.ts'

/** The flags for the filters of executions whose names differ from their fields. */
export const filterNames = { skill_name: 'skill', tool_name: 'tool', created_from: 'since', created_before: 'until' }

/** What the help of a command with these flags says of times. */
export const timesHelp = '\nTimes are ISO 8601, a local day or time such as 2026-01-02 or 2026-01-02T03:04, or how long ago: 90s, 30m, 2h, 7d.'

const unit_ms = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * Converts a time that a user gives to ISO 8601 UTC. The forms are a duration before now (`2h`), a local day (its
 * beginning), and a time with or without a zone (without: local). Any other text is returned unchanged, and the
 * validation refuses it.
 * @param now_ms Unix milliseconds
 */
export function timeOf (text: string, now_ms: number = Date.now()): string {
  const ago = /^(\d{1,6})([smhd])$/.exec(text)
  if (ago !== null) return new Date(now_ms - Number(ago[1]) * unit_ms[ago[2] as keyof typeof unit_ms]).toISOString()
  const local = /^(\d{4}-\d\d-\d\d)([T ](\d\d:\d\d(:\d\d(\.\d{1,9})?)?))?$/.exec(text)
  const ms = local === null ? NaN : Date.parse(`${local[1]}T${local[3] ?? '00:00'}`)
  return Number.isNaN(ms) ? text : new Date(ms).toISOString()
}

/** The filters of executions with their times in ISO 8601 UTC. */
export function resolveTimes (query: JsonObject): JsonObject {
  const resolved = { ...query }
  for (const field of ['created_from', 'created_before']) {
    const time = resolved[field]
    if (typeof time === 'string') resolved[field] = timeOf(time)
  }
  return resolved
}
