import type { Execution } from '../../contracts/schemas.ts'
import { unixTime } from '../../lib/time.ts'
import { isFinal } from '../transitions.ts'
import type { EventMaker } from './event-maker.ts'

/**
 * The events of an execution that has ended, from its record, which the reader does not have. The output of the record
 * is complete, so that only other streams can lack their beginning.
 */
export function makeFromRecord (execution: Execution, maker: EventMaker): void {
  const { created_at, finished_at, output, timeline = [], transitions } = execution
  const created_ms = unixTime(created_at)
  const times_ms = transitions.map(({ status, at }) => isFinal(status) ? Infinity : unixTime(at) - created_ms)
  for (const entry of timeline) {
    maker.transitions(countUntil(times_ms, entry.after_ms))
    if (entry.stream === 'stdout') {
      const at = new Date(created_ms + entry.after_ms).toISOString()
      maker.text('stdout', at, output.slice(0, entry.from + (entry.length ?? 0)), 0)
    } else {
      maker.entry({ ...entry, length: entry.stream === 'stderr' ? entry.text?.length ?? 0 : 1 })
    }
  }
  maker.transitions(countUntil(times_ms, Number.MAX_VALUE))
  // What came only at the end, as from a script, and the note that the output was cut.
  maker.text('stdout', finished_at ?? created_at, output, 0)
  maker.transitions(transitions.length)
  maker.end()
}

/** How many of the first transitions happened by then. */
function countUntil (times_ms: readonly number[], after_ms: number): number {
  const later = times_ms.findIndex(time_ms => time_ms > after_ms)
  return later === -1 ? times_ms.length : later
}
