import fc from 'fast-check'
import t from 'tap'
import { EXECUTION_STATUSES, isFinal, type Execution } from '../../../kernel/index.ts'
import { statisticsOf } from '../../../kernel/executions/statistics.ts'
import memory from '../../../plugins/storage-memory/index.ts'
import { makeStored } from '../../../plugins/testing/executions.ts'
import { openPlugin } from '../../../plugins/testing/open-plugin.ts'

const from_ms = Date.UTC(2040, 0, 1)
const hour_ms = 3_600_000

const run = fc.record({
  skill_name: fc.constantFrom('git', '__proto__', 'a'),
  tool_name: fc.constantFrom('log', 'constructor'),
  status: fc.constantFrom(...EXECUTION_STATUSES),
  at_ms: fc.integer({ min: 0, max: 12 * hour_ms }),
  duration_ms: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 2 ** 31 }))
})

t.test('the numbers are those of a count by hand, and percentiles are within one per cent', async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(run, { maxLength: 60 }), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 5 }),
    async (runs, intervals, limit) => {
      const { service, close } = await openPlugin(memory)
      try {
        const executions = runs.map(({ at_ms, ...fields }) =>
          makeStored({ ...fields, created_at: new Date(from_ms + at_ms).toISOString() }))
        for (const stored of executions) service.save(stored)
        const created_before_ms = from_ms + 10 * hour_ms
        const counted = executions.map(({ execution }) => execution)
          .filter(({ created_at }) => Date.parse(created_at) < created_before_ms)
        const query = { created_from_ms: from_ms, created_before_ms, intervals, limit }
        const statistics = await statisticsOf(service, query)
        check(statistics.total, counted, statistics.interval_ms)
        for (const tool of statistics.tools) {
          const own = counted.filter(({ skill_name, tool_name }) =>
            skill_name === tool.skill_name && tool_name === tool.tool_name)
          check(tool, own, statistics.interval_ms)
        }
        const tools = new Set(counted.map(({ skill_name, tool_name }) => `${skill_name}:${tool_name}`))
        same([statistics.tools_total, statistics.tools.length], [tools.size, Math.min(tools.size, limit)])
        const counts = statistics.tools.map(({ count }) => count)
        same(counts, counts.toSorted((a, b) => b - a))
      } finally {
        await close()
      }
    }
  ), { numRuns: 100 })
})

type Numbers = Awaited<ReturnType<typeof statisticsOf>>['total']

function check (numbers: Numbers, counted: readonly Execution[], interval_ms: number): void {
  const failures = counted.filter(({ status }) => ['failed', 'timeout', 'interrupted'].includes(status))
  same([numbers.count, numbers.failures], [counted.length, failures.length])
  for (const [status, count] of Object.entries(numbers.statuses)) {
    same([status, count], [status, counted.filter(execution => execution.status === status).length])
  }
  for (const [found, expected] of [[numbers.runs, counted], [numbers.failed_runs, failures]] as const) {
    for (const [interval, count] of found.entries()) {
      same(count, expected.filter(({ created_at }) =>
        Math.floor((Date.parse(created_at) - from_ms) / interval_ms) === interval).length)
    }
    same(found.reduce((sum, count) => sum + count, 0), expected.length)
  }
  const durations = counted.filter(({ status }) => isFinal(status) && status !== 'interrupted')
    .map(({ duration_ms }) => duration_ms).toSorted((a, b) => a - b)
  if (numbers.duration_ms === null) return same(durations, [])
  for (const [percent, found] of [
    [50, numbers.duration_ms.p50], [95, numbers.duration_ms.p95], [99, numbers.duration_ms.p99],
    [100, numbers.duration_ms.max]
  ] as const) {
    const exact = durations[Math.max(Math.ceil(percent / 100 * durations.length) - 1, 0)] ?? 0
    if (Math.abs(found - exact) > exact / 100 + 1) throw new Error(`${percent} %: got ${found}, expected ${exact}`)
  }
}

function same (actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
  }
}
