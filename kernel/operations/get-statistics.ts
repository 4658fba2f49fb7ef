import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { SkillNameAsked, ToolNameAsked } from '../contracts/schemas.ts'
import { Statistics } from '../contracts/statistics.ts'
import { statisticsOf } from '../executions/statistics.ts'
import { CreatedBefore, CreatedFrom, executionFilter } from './execution-filters.ts'
import { exampleExecution } from './examples.ts'

const { skill_name, tool_name } = exampleExecution
const day_ms = 86_400_000

const exampleNumbers = {
  count: 3,
  failures: 1,
  statuses: { queued: 0, waiting: 0, running: 0, success: 2, failed: 0, timeout: 1, cancelled: 0, interrupted: 0 },
  duration_ms: { mean: 1005, p50: 9, p95: 3000, p99: 3000, max: 3000 },
  runs: [0, 3],
  failed_runs: [0, 1]
}

export const getStatistics = operation({
  name: 'get_statistics',
  effect: 'read',
  route: 'GET /api/stats',
  summary: 'Count executions',
  description: 'How many executions were created, how they ended and how long they took, in all and for each tool. By default those of the last 24 hours.',
  input: Type.Object({
    skill_name: Type.Optional(SkillNameAsked),
    tool_name: Type.Optional(ToolNameAsked),
    created_from: Type.Optional(CreatedFrom),
    created_before: Type.Optional(CreatedBefore),
    intervals: Type.Integer({
      minimum: 1, maximum: 200, default: 24, description: 'Into how many intervals the time is divided for `runs`'
    }),
    limit: Type.Integer({ minimum: 0, maximum: 500, default: 50, description: 'How many tools are listed' })
  }, { additionalProperties: false }),
  output: Type.Object({ ...Statistics.properties }),
  errors: [],
  example: {
    input: { intervals: 2, limit: 1 },
    output: {
      created_from: '2026-01-01T00:00:00.000Z', created_before: '2026-01-02T00:00:00.000Z', interval_ms: day_ms / 2,
      total: exampleNumbers,
      tools: [{ skill_name, tool_name, ...exampleNumbers }],
      tools_total: 1
    }
  },
  handler ({ storage }, { intervals, limit, ...filters }) {
    const filter = executionFilter(filters)
    const { created_before_ms: end_ms = Date.now() + 1 } = filter
    const { created_from_ms = end_ms - day_ms } = filter
    // A time that ends before it begins has no executions, as in a list.
    const created_before_ms = Math.max(created_from_ms, end_ms)
    return statisticsOf(storage, { ...filter, intervals, limit, created_from_ms, created_before_ms })
  }
})
