import {
  isoTime, recordBytes, unixTime, type Execution, type ExecutionStatus, type ExecutionSummary, type ProcessIdentity,
  type StoredExecution
} from '../../kernel/index.ts'
import { statusNumbers } from './columns.ts'
import type { Environment } from './environment.ts'

/**
 * The characters of JSON that a row may have. Larger records are in `details`, so that a page of a list is cheap to
 * read.
 */
export const rowCharactersMax = 2_000

/** The fields of an execution that a list shows, and its owner. */
type Summary = [
  id: string, skill_name: string, tool_name: string, status: number, created_at: string, duration_ms: number,
  owner: ProcessIdentity | null
]
/**
 * A whole record: without field names, statuses as numbers, times as milliseconds after `created_at`. For a trivial
 * execution this is 180 characters instead of 600, and takes half the time to make.
 */
type Whole = [
  ...Summary,
  runtime: string, started: number | null, finished: number | null,
  parameters: Execution['parameters'], output: string, output_truncated: boolean, error: Execution['error'],
  /** The transitions: status, time, status, time and so on. */
  transitions: number[],
  transport: Execution['transport'], key: string | null, isolation: Execution['isolation'],
  /** The fields that few records have; absent where this one has none. */
  more?: More
]
type More = Pick<
  Execution, 'queue' | 'concurrency' | 'attempts' | 'origin' | 'timeline' | 'approvals' | 'output_file_bytes'
>
type Row = Whole | Summary

/** A row of format 1; files of that format still contain such rows. */
type OldRow = StoredExecution | { summary: ExecutionSummary, owner: ProcessIdentity | null }

/** The inverse of `statusNumbers`. */
const statuses = Object.fromEntries(
  Object.entries(statusNumbers).map(([status, number]) => [number, status])
) as Record<number, ExecutionStatus>

/** The texts to store for a record. */
export interface Texts {
  row: string
  /** The whole record, when it is too large for the row. */
  details: string | undefined
}

/** @throws TypeError when the record is not plain JSON */
export function textsOf (stored: StoredExecution): Texts {
  const whole = wholeOf(stored)
  const text = JSON.stringify(whole)
  return text.length <= rowCharactersMax
    ? { row: text, details: undefined }
    : { row: JSON.stringify(whole.slice(0, summaryLength)), details: text }
}

/** The fields of a row that a list shows. */
export function readSummary (row: string): ExecutionSummary {
  const [id, skill_name, tool_name, status, created_at, duration_ms] = parse(row)
  return { id, skill_name, tool_name, status: statusOf(status), created_at, duration_ms }
}

/** The record in a row, or in `details`; undefined when a row holds only the fields for a list. */
export function readRecord (text: string): StoredExecution | undefined {
  const row = parse(text)
  return isWhole(row) ? storedOf(row) : undefined
}

/** The whole record with a sequence number. */
export function readStored (
  { executions, details }: Pick<Environment, 'executions' | 'details'>, sequence: number
): StoredExecution | undefined {
  const row = executions.get(sequence)
  if (row === undefined) return undefined
  const stored = readRecord(row)
  if (stored !== undefined) return stored
  const text = details.get(sequence)
  return text === undefined ? undefined : readRecord(text)
}

/** The fields of a row that pruning and recovery need. */
export function readHead (
  text: string
): { id: string, created_ms: number, owner: ProcessIdentity | null, hasDetails: boolean } {
  const row = parse(text)
  const [id, , , , created_at, , owner] = row
  return { id, created_ms: unixTime(created_at), owner, hasDetails: !isWhole(row) }
}

/** The checked fields of a row. */
export interface CheckedRow {
  id: string
  created_ms: number
  status: ExecutionStatus
  owner: ProcessIdentity | null
  isWhole: boolean
}

/**
 * Reads a row of a file that may be damaged, and checks it.
 * @throws Error when it is not a row, or not a valid one
 */
export function readChecked (text: string): CheckedRow {
  const row = parse(text)
  const [id, skill_name, tool_name, status, created_at, duration_ms, owner] = row
  const areTexts = [skill_name, tool_name, created_at].every(field => typeof field === 'string')
  const created_ms = unixTime(created_at)
  const areNumbers = Number.isFinite(duration_ms) && Number.isFinite(created_ms)
  if (!idPattern.test(id) || !areTexts || !areNumbers || owner === undefined) {
    throw new Error('it is not the row of an execution')
  }
  if (isWhole(row)) storedOf(row)
  return { id, created_ms, status: statusOf(status), owner, isWhole: isWhole(row) }
}

/** The form of execution ids, which are UUIDs; an id of another form is not looked up. */
export const idPattern = /^[\x21-\x7e]{1,128}$/

const summaryLength = 7

function isWhole (row: Row): row is Whole {
  return row.length > summaryLength
}

function parse (text: string): Row {
  if (text.startsWith('[')) return JSON.parse(text) as Row // written by `textsOf`
  const old = JSON.parse(text) as OldRow // written by format 1
  // Records from before named keys have no key.
  if ('execution' in old) return wholeOf({ ...old, execution: { ...old.execution, key: old.execution.key ?? null } })
  const { summary: { id, skill_name, tool_name, status, created_at, duration_ms }, owner } = old
  return [id, skill_name, tool_name, statusNumbers[status], created_at, duration_ms, owner]
}

function wholeOf ({ execution, owner }: StoredExecution): Whole {
  const {
    id, skill_name, tool_name, status, created_at, duration_ms, runtime, started_at, finished_at, parameters, output,
    output_truncated, error, transport, key, isolation
  } = execution
  const created_ms = unixTime(created_at)
  const after_ms = (time: string): number => time === created_at ? 0 : unixTime(time) - created_ms
  const transitions: number[] = []
  for (const { status, at } of execution.transitions) transitions.push(statusNumbers[status], after_ms(at))
  const whole: Whole = [
    id, skill_name, tool_name, statusNumbers[status], created_at, duration_ms, owner,
    runtime, started_at === null ? null : after_ms(started_at), finished_at === null ? null : after_ms(finished_at),
    parameters, output, output_truncated, error, transitions, transport, key, isolation
  ]
  const more = moreOf(execution)
  if (more !== undefined) whole.push(more)
  return whole
}

function moreOf (
  { queue, concurrency, attempts, origin, timeline, approvals, output_file_bytes }: Execution
): More | undefined {
  const few = queue ?? concurrency ?? attempts ?? origin ?? timeline ?? approvals ?? output_file_bytes
  if (few === undefined) return undefined
  return {
    ...(queue !== undefined && { queue }), ...(concurrency !== undefined && { concurrency }),
    ...(attempts !== undefined && { attempts }), ...(origin !== undefined && { origin }),
    ...(timeline !== undefined && { timeline }), ...(approvals !== undefined && { approvals }),
    ...(output_file_bytes !== undefined && { output_file_bytes })
  }
}

function storedOf (whole: Whole): StoredExecution {
  const [
    id, skill_name, tool_name, status, created_at, duration_ms, owner,
    runtime, started, finished, parameters, output, output_truncated, error, moves, transport, key, isolation, more
  ] = whole
  const created_ms = unixTime(created_at)
  const timeOf = (after_ms: number): string => after_ms === 0 ? created_at : isoTime(created_ms + after_ms)
  const transitions: Execution['transitions'] = []
  for (let i = 0; i + 1 < moves.length; i += 2) {
    transitions.push({ status: statusOf(moves[i]), at: timeOf(moves[i + 1] ?? 0) })
  }
  const execution: Execution = {
    id, skill_name, tool_name, status: statusOf(status), created_at, duration_ms,
    runtime, started_at: started === null ? null : timeOf(started),
    finished_at: finished === null ? null : timeOf(finished),
    parameters, output, output_truncated, error, transitions, transport, key, isolation, ...more
  }
  return { execution, owner }
}

/** The status with a number. @throws Error for an unknown number: the file is damaged, or another program wrote it */
export function statusOf (number: number | undefined): ExecutionStatus {
  const status = number === undefined ? undefined : statuses[number]
  if (status === undefined) throw new Error(`the history is damaged: ${number} is no status`)
  return status
}

/** The approximate number of characters that the texts of a record will have. */
export function charactersOf ({ execution }: StoredExecution): number {
  return recordBytes(execution) / 2
}
