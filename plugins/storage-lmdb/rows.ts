import type { ExecutionSummary, Owner, StoredExecution } from '../../kernel/index.ts'

/** Characters of JSON that a row may hold; larger records stand in `details`, so that a page of a list stays cheap. */
const rowCharactersMax = 2_000

/** A row: the whole record, or only what a list shows of it. */
type Row = StoredExecution | { summary: ExecutionSummary, owner: Owner | null }

/** The texts to store for a record. */
export interface Texts {
  row: string
  /** The whole record, where it does not stand in the row. */
  details: string | undefined
}

/** @throws TypeError when the record is not plain JSON */
export function textsOf (stored: StoredExecution): Texts {
  const text = JSON.stringify(stored)
  if (text.length <= rowCharactersMax) return { row: text, details: undefined }
  const row: Row = { summary: summaryOf(stored.execution), owner: stored.owner }
  return { row: JSON.stringify(row), details: text }
}

/** What a list shows of a row. */
export function readSummary (row: string): ExecutionSummary {
  const parsed = JSON.parse(row) as Row // written by `textsOf`
  return 'summary' in parsed ? parsed.summary : summaryOf(parsed.execution)
}

/** The record in a row; undefined when it stands in `details`. */
export function readRow (row: string): StoredExecution | undefined {
  const parsed = JSON.parse(row) as Row // written by `textsOf`
  return 'summary' in parsed ? undefined : completed(parsed)
}

/** What pruning needs of a row. */
export function readOldest (row: string): { id: string, created_ms: number, unfinished: boolean, hasDetails: boolean } {
  const parsed = JSON.parse(row) as Row // written by `textsOf`
  const hasDetails = 'summary' in parsed
  const { id, created_at } = hasDetails ? parsed.summary : parsed.execution
  return { id, created_ms: Date.parse(created_at), unfinished: parsed.owner !== null, hasDetails }
}

export function readDetails (text: string): StoredExecution {
  return completed(JSON.parse(text) as StoredExecution) // written by `textsOf`
}

/** Records of before there were named keys lack `key`. */
function completed ({ execution, owner }: StoredExecution): StoredExecution {
  return { execution: { ...execution, key: execution.key ?? null }, owner }
}

function summaryOf ({ id, skill_name, tool_name, status, created_at, duration_ms }: ExecutionSummary): ExecutionSummary {
  return { id, skill_name, tool_name, status, created_at, duration_ms }
}
