import { setImmediate } from 'node:timers/promises'
import {
  decodeCursor, encodeCursor, filteredTotalMax, SkilletError, type ExecutionPage, type ExecutionQuery,
  type ExecutionSummary
} from '../../kernel/index.ts'
import type { Bounds } from './bounds.ts'
import { chunkLength, chunkOf, readChunk } from './columns.ts'
import type { Environment } from './environment.ts'
import { filterOf, hits, isMatch, isNamed, select } from './filter.ts'
import type { History } from './history.ts'
import type { Matches } from './text/matches.ts'

/**
 * The number of chunks that are searched in one turn of the event loop: 0.3 to 0.6 ms, measured at 100,000 and at
 * 1,000,000 executions.
 */
const chunksPerTurn = 64

interface Row { sequence: number, summary: ExecutionSummary }
/** The executions of a page, with one more than the limit if there is one, and the number of matches. */
interface Page { rows: Row[], total: number }

/** A query, and the executions that have its words, if it has words. */
interface TextQuery extends ExecutionQuery { matches?: Matches | undefined }

/**
 * A page of the committed executions, newest first.
 * @throws SkilletError INVALID_PARAMETERS for a cursor that no page returned
 */
export async function listPage (env: Environment, history: History, query: TextQuery): Promise<ExecutionPage> {
  const bounds = history.bounds()
  let top = bounds.last
  if (query.cursor !== undefined) {
    const from = decodeCursor(query.cursor)
    if (from > bounds.last) {
      throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor: query.cursor })
    }
    top = from - 1
  }
  const { skill_name, tool_name, status, created_from_ms, created_before_ms, allows, matches } = query
  const isFiltered = [skill_name, tool_name, status, created_from_ms, created_before_ms, allows, matches]
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
  env: Environment, history: History, query: TextQuery, bounds: Bounds, top: number
): Promise<Page> {
  const { limit, matches } = query
  const filter = filterOf(history, query)
  const page = new FilteredPage(query, top)
  let chunksRead = 0
  let below = bounds.first - 1
  for (let number = chunkOf(bounds.last); number >= chunkOf(bounds.first); number--) {
    // When the total has reached its maximum, the executions above the cursor need not be counted.
    if (page.total >= filteredTotalMax) number = Math.min(number, chunkOf(Math.max(top, 0)))
    if (matches?.hasAny(number) === false) continue
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
      if (matches?.has(sequence) === false) continue
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
async function scanAside (history: History, query: TextQuery, page: FilteredPage, from: number): Promise<void> {
  for (let next = from; ;) {
    const sequences = Array.from(history.aside(next, chunkLength))
    for (const sequence of sequences) {
      const summary = history.summary(sequence)
      if (!isMatch(summary, query) || query.matches?.isIn(history.read(sequence)?.execution) === false) continue
      if (page.takes(sequence)) page.add(sequence, summary)
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
