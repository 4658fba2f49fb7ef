import { Type } from 'typebox'
import { filteredTotalMax } from '../contracts/storage.ts'
import { SkilletError } from '../lib/errors.ts'
import { operation } from '../contracts/operation.ts'
import { ExecutionStatus, ExecutionSummary, SkillNameAsked, ToolNameAsked } from '../contracts/schemas.ts'
import { exampleExecution } from './examples.ts'

const { id, skill_name, tool_name, status, created_at, duration_ms } = exampleExecution

export const listExecutions = operation({
  name: 'list_executions',
  effect: 'read',
  route: 'GET /api/executions',
  summary: 'List executions',
  description: 'The history, newest first. Without a filter any page is as fast as the first; with one, follow `next_cursor`.',
  input: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Page size' }),
    offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, description: 'Records to skip' }),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: '`next_cursor` of the page before' })
    ),
    skill_name: Type.Optional(SkillNameAsked),
    tool_name: Type.Optional(ToolNameAsked),
    status: Type.Optional(ExecutionStatus),
    created_from: Type.Optional(Type.String({
      format: 'date-time', maxLength: 64, description: 'Only executions created at or after this time (ISO 8601)'
    })),
    created_before: Type.Optional(Type.String({
      format: 'date-time', maxLength: 64, description: 'Only executions created before this time (ISO 8601)'
    }))
  }, { additionalProperties: false }),
  output: Type.Object({
    executions: Type.Array(ExecutionSummary),
    total: Type.Integer(
      { minimum: 0, description: `How many executions match: exact, with a filter up to ${filteredTotalMax}` }
    ),
    next_cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent on the last' }))
  }),
  errors: [],
  example: {
    input: { limit: 1 },
    output: { executions: [{ id, skill_name, tool_name, status, created_at, duration_ms }], total: 1 }
  },
  handler ({ storage }, { created_from, created_before, ...query }) {
    return storage.list({
      ...query,
      ...(created_from !== undefined && { created_from_ms: time('created_from', created_from) }),
      ...(created_before !== undefined && { created_before_ms: time('created_before', created_before) })
    })
  }
})

function time (field: string, text: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) {
    throw new SkilletError('INVALID_PARAMETERS', `${field} must be a time such as 2026-01-02T03:04:05Z`)
  }
  return ms
}
