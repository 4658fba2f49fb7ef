import { createHistogram } from 'node:perf_hooks'
import { EXECUTION_STATUSES, type ExecutionStatus } from '../contracts/schemas.ts'
import type { RunStatistics, Statistics } from '../contracts/statistics.ts'
import type { ExecutionFilter, Storage } from '../contracts/storage.ts'
import { isoTime } from '../lib/time.ts'
import { isFinal } from './transitions.ts'

/** What the statistics are about. */
export interface StatisticsQuery extends Pick<ExecutionFilter, 'skill_name' | 'tool_name' | 'allows'> {
  created_from_ms: number
  created_before_ms: number
  /** The number of intervals into which the time is divided, at least 1. */
  intervals: number
  /** The maximum number of tools with statistics of their own. */
  limit: number
}

/** The highest duration that is told apart, in milliseconds: 49 days. */
const durationMax_ms = 2 ** 32
const failures: ReadonlySet<ExecutionStatus> = new Set(['failed', 'timeout', 'interrupted'])

/**
 * Counts the executions that were created in a time. It visits them twice: first to find the tools that are used most,
 * then with a histogram of 20 KB for each of these only.
 */
export async function statisticsOf (
  storage: Pick<Storage, 'visit'>, { intervals, limit, ...time }: StatisticsQuery
): Promise<Statistics> {
  const { created_from_ms, created_before_ms } = time
  const interval_ms = Math.max(Math.ceil((created_before_ms - created_from_ms) / intervals), 1)
  const numbers = Math.min(Math.ceil((created_before_ms - created_from_ms) / interval_ms), intervals)
  const { pairs, count } = await mostUsed(storage, time, limit)
  const total = new RunNumbers(numbers)
  const tools = new Map(pairs.map(([skill_name, tool_name]) => [
    keyOf(skill_name, tool_name), { skill_name, tool_name, numbers: new RunNumbers(numbers) }
  ]))
  await storage.visit(time, (skill_name, tool_name) => {
    const own = tools.get(keyOf(skill_name, tool_name))?.numbers
    return (status, created_ms, duration_ms) => {
      const interval = Math.floor((created_ms - created_from_ms) / interval_ms)
      total.add(status, interval, duration_ms)
      own?.add(status, interval, duration_ms)
    }
  })
  return {
    created_from: isoTime(created_from_ms),
    created_before: isoTime(created_before_ms),
    interval_ms,
    total: total.statistics(),
    tools: Array.from(tools.values(), ({ numbers, ...tool }) => ({ ...tool, ...numbers.statistics() })),
    tools_total: count
  }
}

type Pair = readonly [skill_name: string, tool_name: string]

/** The tools with the most executions, the most used first, and the number of all tools that have executions. */
async function mostUsed (
  storage: Pick<Storage, 'visit'>, filter: ExecutionFilter, limit: number
): Promise<{ pairs: Pair[], count: number }> {
  const counts = new Map<string, { pair: Pair, count: number }>()
  await storage.visit(filter, (skill_name, tool_name) => {
    const key = keyOf(skill_name, tool_name)
    const counted = counts.get(key) ?? { pair: [skill_name, tool_name], count: 0 }
    counts.set(key, counted)
    return () => { counted.count++ }
  })
  const sorted = [...counts.values()].toSorted((a, b) => b.count - a.count)
  return { pairs: sorted.slice(0, limit).map(({ pair }) => pair), count: counts.size }
}

/** No name has a line feed: a manifest could not declare it. */
function keyOf (skill_name: string, tool_name: string): string {
  return `${skill_name}\n${tool_name}`
}

/** The numbers of some executions. */
class RunNumbers {
  readonly #statuses = Object.fromEntries(EXECUTION_STATUSES.map(status => [status, 0])) as
    Record<ExecutionStatus, number>

  /** The durations plus 1, since the histogram has no place for 0. */
  readonly #durations = createHistogram({ lowest: 1, highest: durationMax_ms, figures: 2 })
  readonly #runs: number[]
  readonly #failed: number[]

  constructor (intervals: number) {
    this.#runs = Array<number>(intervals).fill(0)
    this.#failed = Array<number>(intervals).fill(0)
  }

  add (status: ExecutionStatus, interval: number, duration_ms: number): void {
    this.#statuses[status]++
    this.#runs[interval] = (this.#runs[interval] ?? 0) + 1
    if (failures.has(status)) this.#failed[interval] = (this.#failed[interval] ?? 0) + 1
    if (!isFinal(status) || status === 'interrupted') return // it has no duration
    this.#durations.record(Math.min(duration_ms + 1, durationMax_ms))
  }

  statistics (): RunStatistics {
    const histogram = this.#durations
    const at = (percent: number): number => histogram.percentile(percent) - 1
    return {
      count: Object.values(this.#statuses).reduce((sum, count) => sum + count, 0),
      failures: [...failures].reduce((sum, status) => sum + this.#statuses[status], 0),
      statuses: this.#statuses,
      duration_ms: histogram.count === 0
        ? null
        : { mean: round(histogram.mean - 1), p50: at(50), p95: at(95), p99: at(99), max: histogram.max - 1 },
      runs: this.#runs,
      failed_runs: this.#failed
    }
  }
}

/** To a hundredth. */
function round (value: number): number {
  return Math.round(value * 100) / 100
}
