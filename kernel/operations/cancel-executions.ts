import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { Choice, EXECUTION_STATUSES, ExecutionSummary, SkillNameAsked, ToolNameAsked } from '../contracts/schemas.ts'
import type { Services } from '../contracts/services.ts'
import { isFinal } from '../executions/transitions.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { SkilletError } from '../lib/errors.ts'
import { CreatedBefore, CreatedFrom, executionFilter, type FilterInput } from './execution-filters.ts'
import { exampleExecution } from './examples.ts'

/** How many executions a call cancels at most. */
const cancelMax = 500
/** How many of them are asked to end at the same time: each may be waited for, in another process too. */
const atOnceMax = 32

/** The states of executions that can be cancelled. Queued ones come first, so that none of them starts meanwhile. */
const UNFINISHED = EXECUTION_STATUSES.filter(status => !isFinal(status))

const { id, skill_name, tool_name, created_at } = exampleExecution

export const cancelExecutions = operation({
  name: 'cancel_executions',
  effect: 'write',
  route: 'POST /api/executions/cancel',
  summary: 'Cancel the executions that match',
  description: 'Ends the executions that match and have not ended, whichever process runs them, and answers with them and their states. It needs at least one filter. With `dry_run` it ends none, and answers with those that it would end.',
  input: Type.Object({
    skill_name: Type.Optional(SkillNameAsked),
    tool_name: Type.Optional(ToolNameAsked),
    status: Type.Optional(Choice(UNFINISHED, { title: 'UnfinishedStatus', description: 'Only those with this state' })),
    created_from: Type.Optional(CreatedFrom),
    created_before: Type.Optional(CreatedBefore),
    dry_run: Type.Boolean({ default: false, description: 'Only say which executions match' }),
    limit: Type.Integer({
      minimum: 1, maximum: cancelMax, default: cancelMax, description: 'How many are cancelled, or named, at most'
    })
  }, { additionalProperties: false }),
  output: Type.Object({
    matched: Type.Integer({ minimum: 0, description: 'How many executions matched' }),
    cancelled: Type.Integer({ minimum: 0, description: 'How many of them were cancelled' }),
    executions: Type.Array(ExecutionSummary, {
      description: 'The first of them, with their states after the call. One that is not `cancelled` ended by itself, or was asked to end and has not done so yet'
    })
  }),
  errors: ['STORAGE_UNAVAILABLE'],
  example: {
    input: { skill_name, status: 'running', dry_run: false, limit: 100 },
    output: {
      matched: 1, cancelled: 1,
      executions: [{ id, skill_name, tool_name, status: 'cancelled', created_at, duration_ms: 1 }]
    }
  },
  async handler (services, { dry_run, limit, ...filters }, { signal }) {
    if (Object.keys(filters).length === 0) {
      const names = 'skill_name, tool_name, status, created_from or created_before'
      throw new SkilletError('INVALID_PARAMETERS', `Say which executions are cancelled, by ${names}`)
    }
    const { matched, found } = await unfinished(services, filters, limit)
    const executions = dry_run ? found : await cancelAll(services, found, signal)
    return { matched, cancelled: executions.filter(({ status }) => status === 'cancelled').length, executions }
  }
})

/** The executions that match and have not ended: their number, and the first of them. */
async function unfinished (
  { storage }: Services, { status, ...filters }: FilterInput, limit: number
): Promise<{ matched: number, found: ExecutionSummary[] }> {
  const pages = []
  for (const each of UNFINISHED) {
    if (status !== undefined && status !== each) continue
    pages.push(await storage.list({ ...executionFilter({ ...filters, status: each }), limit, offset: 0 }))
  }
  // One that started between the two looks is in both.
  const byId = new Map(pages.flatMap(({ executions }) => executions).map(execution => [execution.id, execution]))
  return {
    matched: pages.reduce((sum, { total }) => sum + total, 0),
    found: [...byId.values()].slice(0, limit)
  }
}

/** Cancels executions. @returns them as they are then, in the same order */
async function cancelAll (
  services: Services, found: readonly ExecutionSummary[], signal: CancelSignal
): Promise<ExecutionSummary[]> {
  const after = [...found]
  const rest = found.entries()
  const cancelNext = async (): Promise<void> => {
    for (const [i, execution] of rest) {
      if (signal.aborted) return
      after[i] = await cancelOne(services, execution, signal)
    }
  }
  await Promise.all(Array.from({ length: atOnceMax }, cancelNext))
  return after
}

/** Cancels an execution, unless it has ended meanwhile. @returns it as it is then */
async function cancelOne (
  { executions, storage }: Services, before: ExecutionSummary, signal: CancelSignal
): Promise<ExecutionSummary> {
  const { id, skill_name, tool_name, created_at } = before
  try {
    const { status, duration_ms } = await executions.cancel(id, signal)
    return { id, skill_name, tool_name, status, created_at, duration_ms }
  } catch (error) {
    const { code } = SkilletError.from(error)
    if (code !== 'CONFLICT' && code !== 'EXECUTION_NOT_FOUND') throw error
    const { status, duration_ms } = (await storage.get(id))?.execution ?? before
    return { id, skill_name, tool_name, status, created_at, duration_ms }
  }
}
