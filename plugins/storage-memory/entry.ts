import type {
  ExecutionFilter, ExecutionSummary, ProcessIdentity, StoredExecution
} from '../../kernel/index.ts'

/** A record in memory. */
export interface Entry {
  readonly sequence: number
  /**
   * The saved record as JSON: each reader gets its own object, and later changes to the saved object have no effect.
   */
  text: string
  /** The bytes of the text in UTF-8. */
  bytes: number
  summary: ExecutionSummary
  created_ms: number
  /** Null once it has ended. */
  owner: ProcessIdentity | null
}

/** What an entry holds of a saved record. */
export function stateOf (stored: StoredExecution): Omit<Entry, 'sequence'> {
  const { execution: { id, skill_name, tool_name, status, created_at, duration_ms }, owner } = stored
  const text = JSON.stringify(stored)
  return {
    text,
    bytes: Buffer.byteLength(text),
    summary: { id, skill_name, tool_name, status, created_at, duration_ms },
    created_ms: Date.parse(created_at),
    owner
  }
}

/** Makes the filter of a query; undefined when the query has no filter. */
export function matcher (
  { skill_name, tool_name, status, created_from_ms, created_before_ms, allows }: ExecutionFilter
): ((entry: Entry) => boolean) | undefined {
  if (
    [skill_name, tool_name, status, created_from_ms, created_before_ms, allows].every(filter => filter === undefined)
  ) {
    return undefined
  }
  return ({ summary, created_ms }) =>
    (skill_name === undefined || summary.skill_name === skill_name)
    && (tool_name === undefined || summary.tool_name === tool_name)
    && (status === undefined || summary.status === status)
    && (created_from_ms === undefined || created_ms >= created_from_ms)
    && (created_before_ms === undefined || created_ms < created_before_ms)
    && (allows === undefined || allows(summary.skill_name, summary.tool_name))
}
