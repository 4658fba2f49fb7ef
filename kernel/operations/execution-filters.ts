import { Type } from 'typebox'
import type { ExecutionStatus } from '../contracts/schemas.ts'
import { isAskedFor, splitInstance } from '../contracts/names.ts'
import type { ExecutionFilter } from '../contracts/storage.ts'
import { SkilletError } from '../lib/errors.ts'

export const CreatedFrom = Type.String({
  format: 'date-time', maxLength: 64, description: 'Only executions created at or after this time (ISO 8601)'
})
export const CreatedBefore = Type.String({
  format: 'date-time', maxLength: 64, description: 'Only executions created before this time (ISO 8601)'
})

/** The filters in the input of an operation. */
export interface FilterInput {
  skill_name?: string
  tool_name?: string
  status?: ExecutionStatus
  created_from?: string
  created_before?: string
}

/**
 * The filter for a storage. A skill without an instance stands for the runs of all its instances.
 * @throws SkilletError INVALID_PARAMETERS for a text that is no time
 */
export function executionFilter (
  { skill_name, created_from, created_before, ...filter }: FilterInput
): ExecutionFilter {
  return {
    ...filter,
    ...(skill_name !== undefined && ofSkill(skill_name)),
    ...(created_from !== undefined && { created_from_ms: timeOf('created_from', created_from) }),
    ...(created_before !== undefined && { created_before_ms: timeOf('created_before', created_before) })
  }
}

function ofSkill (name: string): Pick<ExecutionFilter, 'skill_name' | 'allows'> {
  if (splitInstance(name).instance !== undefined) return { skill_name: name }
  return { allows: skill => isAskedFor(skill, name) }
}

function timeOf (field: string, text: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) {
    throw new SkilletError('INVALID_PARAMETERS', `${field} must be a time such as 2026-01-02T03:04:05Z`)
  }
  return ms
}
