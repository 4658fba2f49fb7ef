import { setImmediate } from 'node:timers/promises'
import {
  decodeCursor, encodeCursor, filteredTotalMax, SkilletError, unixTime, type ExecutionPage, type ExecutionQuery,
  type ExecutionSummary
} from '../../kernel/index.ts'
import type { Bounds } from './bounds.ts'
import { chunkLength, chunkOf, readChunk, statusNumbers, type Chunk } from './columns.ts'
import type { Environment } from './environment.ts'
import type { History } from './history.ts'
import { nameVerdict } from './names.ts'

/**
 * The number of chunks that are searched in one turn of the event loop: 0.3 to 0.6 ms, measured at 100,000 and at
 * 1,000,000 executions.
 */
const chunksPerTurn = 64

interface Row { sequence: number, summary: ExecutionSummary }
/** The executions of a page, with one more than the limit if there is one, and the number of matches. */
interface Page { rows: Row[], total: number }

/**
 * A page of the committed executions, newest first.
 * @throws SkilletError INVALID_PARAMETERS for a cursor that no page returned
 */
export async function listPage (env: Environment, history: History, query: ExecutionQuery): Promise<ExecutionPage> {
  const bounds = history.bounds()
  let top = bounds.last
  if (query.cursor !== undefined) {
    const from = decodeCursor(query.cursor)
    if (from > bounds.last) {
      throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor: query.cursor })
    }
    top = from - 1
  }
  const { skill_name, tool_name, status, created_from_ms, created_before_ms, allows } = query
  const isFiltered = [skill_name, tool_name, status, created_from_ms, created_before_ms, allows]
    .some(filter => filter !== undefined)
  const { rows, total } =
    isFiltered ? await scan(env, history, query, bounds, top) : slice(history, query, bounds, top)
  // An execution more than the limit shows that there is a next page.
  const last = rows.length > query.limit ? rows[query.limit - 1] : undefined
  return {
    executions: rows.slice(0, query.limit).map(({ summary }) => summary),
    total,
    ...(last !== undefined && { next_cursor: encodeCursor(last.sequence) })
  }
}

/**
 * A page of an unfiltered list. Any page costs the same: the numbers are dense, so the number of the n-th execution is
 * a subtraction. The few executions that were set aside are the oldest.
 */
function slice (history: History, { limit, offset }: ExecutionQuery, bounds: Bounds, top: number): Page {
  const { first, last, aside } = bounds
  const rows: Row[] = []
  const add = (sequence: number): void => {
    const summary = history.summary(sequence)
    if (summary !== undefined) rows.push({ sequence, summary })
  }
  for (let sequence = top - offset; sequence >= first && rows.length <= limit; sequence--) add(sequence)
  const skip = Math.max(offset - Math.max(top - first + 1, 0), 0)
  if (rows.length <= limit && skip < aside) {
    const from = Math.min(top, first - 1)
    for (const sequence of history.aside(from, limit + 1 - rows.length, skip)) add(sequence)
  }
  return { rows, total: last - first + 1 + aside }
}

/**
 * Searches the columns, newest first, and yields to the event loop after a number of chunks. A row of the page is read
 * in the same turn of the event loop in which it matches, so that the row still matches the filter.
 */
async function scan (
  env: Environment, history: History, query: ExecutionQuery, bounds: Bounds, top: number
): Promise<Page> {
  const { limit } = query
  const filter = filterOf(history, query)
  const page = new FilteredPage(query, top)
  let chunksRead = 0
  let below = bounds.first - 1
  for (let number = chunkOf(bounds.last); number >= chunkOf(bounds.first); number--) {
    // When the total has reached its maximum, the executions above the cursor need not be counted.
    if (page.total >= filteredTotalMax) number = Math.min(number, chunkOf(Math.max(top, 0)))
    const chunk = readChunk(env, number)
    const base = number * chunkLength
    if (chunk === undefined) { // pruned meanwhile; unfinished executions were set aside
      below = base + chunkLength - 1
      break
    }
    const count = select(filter, chunk, Math.max(bounds.first - base, 0), Math.min(bounds.last - base, chunkLength - 1))
    for (let hit = 0; hit < count; hit++) {
      const index = hits[hit] as number
      const sequence = base + index
      if (chunk.names[index] === 0 && !isNamed(history.summary(sequence), query)) continue
      if (page.takes(sequence)) page.add(sequence, history.summary(sequence))
    }
    if (page.rows.length > limit && page.total >= filteredTotalMax) return page
    if (++chunksRead % chunksPerTurn === 0) await setImmediate()
  }
  await scanAside(history, query, page, below)
  return page
}

/**
 * Searches the rows of the executions that were set aside, which have no columns. They are unfinished, so they are few.
 */
async function scanAside (history: History, query: ExecutionQuery, page: FilteredPage, from: number): Promise<void> {
  for (let next = from; ;) {
    const sequences = Array.from(history.aside(next, chunkLength))
    for (const sequence of sequences) {
      const summary = history.summary(sequence)
      if (isMatch(summary, query) && page.takes(sequence)) page.add(sequence, summary)
    }
    const lowest = sequences.at(-1)
    if (lowest === undefined || (page.rows.length > query.limit && page.total >= filteredTotalMax)) return
    next = lowest - 1
    await setImmediate()
  }
}

/** The result of a filtered search so far, newest first. */
class FilteredPage implements Page {
  readonly rows: Row[] = []
  total = 0
  readonly #limit: number
  readonly #top: number
  #skip: number

  /** @param top the highest sequence number that may be on the page */
  constructor ({ limit, offset }: ExecutionQuery, top: number) {
    this.#limit = limit
    this.#top = top
    this.#skip = offset
  }

  /**
   * Counts a match.
   * @returns whether it belongs to the page
   */
  takes (sequence: number): boolean {
    if (this.total < filteredTotalMax) this.total++
    return sequence <= this.#top && this.#skip-- <= 0 && this.rows.length <= this.#limit
  }

  add (sequence: number, summary: ExecutionSummary | undefined): void {
    if (summary !== undefined) this.rows.push({ sequence, summary })
  }
}

interface Filter {
  /** The number of a status; 0 means any status. */
  status: number
  from_ms: number
  before_ms: number
  isTimed: boolean
  verdicts: Uint8Array | undefined
}

function filterOf (history: History, query: ExecutionQuery): Filter {
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
const hits = new Uint8Array(chunkLength)

/**
 * Puts the indices from `high` down to `low` that may match into `hits`.
 * @returns how many indices. The loop is tight, since it runs a million times.
 */
function select (
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
function isNamed (summary: ExecutionSummary | undefined, { skill_name, tool_name, allows }: ExecutionQuery): boolean {
  return summary !== undefined && (skill_name ?? summary.skill_name) === summary.skill_name
    && (tool_name ?? summary.tool_name) === summary.tool_name
    && allows?.(summary.skill_name, summary.tool_name) !== false
}

/** Whether an execution without columns passes the whole filter. */
function isMatch (summary: ExecutionSummary | undefined, query: ExecutionQuery): boolean {
  if (summary === undefined || !isNamed(summary, query)) return false
  const { status = summary.status, created_from_ms: from_ms, created_before_ms: before_ms } = query
  const created_ms = unixTime(summary.created_at)
  return status === summary.status
    && created_ms >= (from_ms ?? created_ms)
    && (before_ms === undefined || created_ms < before_ms)
}
