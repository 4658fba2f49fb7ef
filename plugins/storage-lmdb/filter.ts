import { unixTime, type ExecutionFilter, type ExecutionSummary } from '../../kernel/index.ts'
import { chunkLength, statusNumbers, type Chunk } from './columns.ts'
import type { History } from './history.ts'
import { nameVerdict } from './names.ts'

/** A filter as the columns compare it. */
export interface Filter {
  /** The number of a status; 0 means any status. */
  status: number
  from_ms: number
  before_ms: number
  isTimed: boolean
  verdicts: Uint8Array | undefined
}

export function filterOf (history: History, query: ExecutionFilter): Filter {
  const { status, created_from_ms, created_before_ms } = query
  history.names.refresh()
  return {
    status: status === undefined ? 0 : statusNumbers[status],
    from_ms: created_from_ms ?? Number.NEGATIVE_INFINITY,
    before_ms: created_before_ms ?? Number.POSITIVE_INFINITY,
    isTimed: created_from_ms !== undefined || created_before_ms !== undefined,
    verdicts: history.names.verdicts(query)
  }
}

/** The indices that `select` found; each call overwrites them. */
export const hits = new Uint8Array(chunkLength)

/**
 * Puts the indices from `high` down to `low` that may match into `hits`.
 * @returns how many indices. The loop is tight, since it runs a million times.
 */
export function select (
  { status, from_ms, before_ms, isTimed, verdicts }: Filter,
  { created_ms, names, statuses }: Chunk,
  low: number,
  high: number
): number {
  let count = 0
  for (let index = high; index >= low; index--) {
    if (status !== 0 && statuses[index] !== status) continue
    if (isTimed && !((created_ms[index] as number) >= from_ms && (created_ms[index] as number) < before_ms)) continue
    if (verdicts !== undefined && verdicts[names[index] as number] === nameVerdict.no) continue
    hits[count++] = index
  }
  return count
}

/** Whether an execution passes the filter by name, for executions whose names have no number. */
export function isNamed (
  summary: ExecutionSummary | undefined, { skill_name, tool_name, allows }: ExecutionFilter
): boolean {
  return summary !== undefined && (skill_name ?? summary.skill_name) === summary.skill_name
    && (tool_name ?? summary.tool_name) === summary.tool_name
    && allows?.(summary.skill_name, summary.tool_name) !== false
}

/** Whether an execution without columns passes the whole filter. */
export function isMatch (
  summary: ExecutionSummary | undefined, query: ExecutionFilter
): summary is ExecutionSummary {
  if (summary === undefined || !isNamed(summary, query)) return false
  const { status = summary.status, created_from_ms: from_ms, created_before_ms: before_ms } = query
  const created_ms = unixTime(summary.created_at)
  return status === summary.status
    && created_ms >= (from_ms ?? created_ms)
    && (before_ms === undefined || created_ms < before_ms)
}
