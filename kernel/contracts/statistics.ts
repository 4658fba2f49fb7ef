import { Type, type Static } from 'typebox'
import { EXECUTION_STATUSES, Timestamp, type ExecutionStatus } from './schemas.ts'

const statusCounts = Object.fromEntries(EXECUTION_STATUSES.map(status => [status, Type.Integer({ minimum: 0 })])) as
  Record<ExecutionStatus, ReturnType<typeof Type.Integer>>

const runStatistics = {
  count: Type.Integer({ minimum: 0, description: 'How many executions were created' }),
  failures: Type.Integer({
    minimum: 0, description: 'How many of them failed, ran out of time or were interrupted'
  }),
  statuses: Type.Object(statusCounts, { title: 'StatusCounts', description: 'How many executions have each status' }),
  duration_ms: Type.Union([
    Type.Object({
      mean: Type.Number({ minimum: 0 }),
      p50: Type.Integer({ minimum: 0 }),
      p95: Type.Integer({ minimum: 0 }),
      p99: Type.Integer({ minimum: 0 }),
      max: Type.Integer({ minimum: 0 })
    }, { title: 'Durations', description: 'Running times in milliseconds, to 1 %' }),
    Type.Null()
  ], { description: 'Of the executions that ended and were not interrupted; null without any' }),
  runs: Type.Array(Type.Integer({ minimum: 0 }), { description: 'How many executions were created in each interval' }),
  failed_runs: Type.Array(
    Type.Integer({ minimum: 0 }), { description: 'How many of these are failures, in each interval' }
  )
}

export type RunStatistics = Static<typeof RunStatistics>
const RunStatistics =
  Type.Object(runStatistics, { title: 'RunStatistics', description: 'Numbers of executions and their running times' })

/** The executions of a time, in numbers. */
export type Statistics = Static<typeof Statistics>
export const Statistics = Type.Object({
  created_from: Timestamp('The beginning of the time'),
  created_before: Timestamp('The end of the time'),
  interval_ms: Type.Integer({ minimum: 1, description: 'Length of an interval of `runs` and `failed_runs`' }),
  total: RunStatistics,
  tools: Type.Array(Type.Object({ skill_name: Type.String(), tool_name: Type.String(), ...runStatistics }, {
    title: 'ToolStatistics', description: 'The executions of a tool, in numbers'
  }), { description: 'The tools with the most executions, the most used first' }),
  tools_total: Type.Integer({ minimum: 0, description: 'How many tools have executions' })
}, { title: 'Statistics', description: 'Executions in numbers' })
