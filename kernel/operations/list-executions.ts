import { Type } from 'typebox'
import { filteredTotalMax } from '../contracts/storage.ts'
import { operation } from '../contracts/operation.ts'
import { ExecutionStatus, ExecutionSummary, SkillNameAsked, ToolNameAsked } from '../contracts/schemas.ts'
import { CreatedBefore, CreatedFrom, executionFilter } from './execution-filters.ts'
import { SearchedText, soughtIn } from './searched-text.ts'
import { SkilletError } from '../lib/errors.ts'
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
    text: Type.Optional(SearchedText),
    created_from: Type.Optional(CreatedFrom),
    created_before: Type.Optional(CreatedBefore)
  }, { additionalProperties: false }),
  output: Type.Object({
    executions: Type.Array(ExecutionSummary),
    total: Type.Integer(
      { minimum: 0, description: `How many executions match: exact, with a filter up to ${filteredTotalMax}` }
    ),
    next_cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent on the last' })),
    unindexed: Type.Optional(Type.Integer({
      minimum: 1,
      description: 'With `text`: how many older executions were not searched, since they are not in the index yet. Ask again later; absent when all were searched'
    }))
  }),
  errors: [],
  example: {
    input: { limit: 1 },
    output: { executions: [{ id, skill_name, tool_name, status, created_at, duration_ms }], total: 1 }
  },
  async handler ({ storage }, { limit, offset, cursor, text, ...filters }) {
    const query = { limit, offset, ...(cursor !== undefined && { cursor }), ...executionFilter(filters) }
    if (text === undefined) return await storage.list(query)
    const words = soughtIn(text)
    if (storage.find === undefined) {
      throw new SkilletError('INVALID_PARAMETERS', 'The storage of this server can\'t search texts; ask without text')
    }
    const { unindexed, ...page } = await storage.find(words, query)
    return unindexed === 0 ? page : { ...page, unindexed }
  }
})
