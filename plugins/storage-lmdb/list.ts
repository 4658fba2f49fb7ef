import { setImmediate } from 'node:timers/promises'
import { decodeCursor, encodeCursor, filteredTotalMax, SkilletError, type ExecutionPage, type ExecutionQuery, type ExecutionSummary } from '../../kernel/index.ts'
import { chunkLength, chunkOf, readChunk, statusNumbers, type Chunk } from './columns.ts'
import type { Environment } from './environment.ts'
import type { Bounds, History } from './history.ts'
import { nameVerdict } from './names.ts'

/** Chunks looked at in one turn of the event loop: 0.3 to 0.6 ms, measured at 100,000 and at 1,000,000 executions. */
const chunksPerTurn = 64

interface Found { sequence: number, summary: ExecutionSummary }

/** A page, newest first, of what is committed. @throws SkilletError INVALID_PARAMETERS for a cursor that no page gave */
export async function listPage (env: Environment, history: History, query: ExecutionQuery): Promise<ExecutionPage> {
  const bounds = history.bounds()
  let top = bounds.last
  if (query.cursor !== undefined) {
    const from = decodeCursor(query.cursor)
    if (from > bounds.last) throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor: query.cursor })
    top = from - 1
  }
  const { skill_name, tool_name, status, created_from_ms, created_before_ms, allows } = query
  const isFiltered = [skill_name, tool_name, status, created_from_ms, created_before_ms, allows].some(filter => filter !== undefined)
  const { found, total } = isFiltered ? await scan(env, history, query, bounds, top) : slice(history, query, bounds, top)
  // One more than asked for tells whether there is a next page.
  const last = found.length > query.limit ? found[query.limit - 1] : undefined
  return {
    executions: found.slice(0, query.limit).map(({ summary }) => summary),
    total,
    ...(last !== undefined && { next_cursor: encodeCursor(last.sequence) })
  }
}

/** Any page costs the same: numbers are dense, so the place of the n-th is a subtraction. */
function slice (history: History, { limit, offset }: ExecutionQuery, { first, last }: Bounds, top: number): { found: Found[], total: number } {
  const found: Found[] = []
  for (let sequence = top - offset; sequence >= first && found.length <= limit; sequence--) {
    const summary = history.summary(sequence)
    if (summary !== undefined) found.push({ sequence, summary })
  }
  return { found, total: last - first + 1 }
}

/**
 * Looks through the columns, newest first, and gives way to other work every so many chunks. A page's rows are
 * read in the turn in which they match, so that they are what the filter asked for.
 */
async function scan (env: Environment, history: History, query: ExecutionQuery, bounds: Bounds, top: number): Promise<{ found: Found[], total: number }> {
  const { limit, offset } = query
  const filter = filterOf(history, query)
  const found: Found[] = []
  let total = 0
  let skip = offset
  let turn = 0
  for (let number = chunkOf(bounds.last); number >= chunkOf(bounds.first); number--) {
    // Past the greatest total, what stands above the cursor is of no interest.
    if (total >= filteredTotalMax) number = Math.min(number, chunkOf(Math.max(top, 0)))
    const chunk = readChunk(env, number)
    if (chunk === undefined) break // pruned meanwhile
    const base = number * chunkLength
    const count = select(filter, chunk, Math.max(bounds.first - base, 0), Math.min(bounds.last - base, chunkLength - 1))
    for (let hit = 0; hit < count; hit++) {
      const index = hits[hit] as number
      const sequence = base + index
      if (chunk.names[index] === 0 && !isNamed(history.summary(sequence), query)) continue
      if (total < filteredTotalMax) total++
      if (sequence > top || skip-- > 0 || found.length > limit) continue
      const summary = history.summary(sequence)
      if (summary !== undefined) found.push({ sequence, summary })
    }
    if (found.length > limit && total >= filteredTotalMax) break
    if (++turn % chunksPerTurn === 0) await setImmediate()
  }
  return { found, total }
}

interface Filter {
  /** 0: any. */
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

/** Indices that `select` found; each call overwrites it. */
const hits = new Uint8Array(chunkLength)

/** Puts the indices from `high` down to `low` that may pass into `hits`. @returns how many. A tight loop: it runs a million times. */
function select ({ status, from_ms, before_ms, isTimed, verdicts }: Filter, { created_ms, names, statuses }: Chunk, low: number, high: number): number {
  let count = 0
  for (let index = high; index >= low; index--) {
    if (status !== 0 && statuses[index] !== status) continue
    if (isTimed && !((created_ms[index] as number) >= from_ms && (created_ms[index] as number) < before_ms)) continue
    if (verdicts !== undefined && verdicts[names[index] as number] === nameVerdict.no) continue
    hits[count++] = index
  }
  return count
}

/** For an execution whose names have no number: whether it passes the filter by name. */
function isNamed (summary: ExecutionSummary | undefined, { skill_name, tool_name, allows }: ExecutionQuery): boolean {
  return summary !== undefined && (skill_name ?? summary.skill_name) === summary.skill_name && (tool_name ?? summary.tool_name) === summary.tool_name &&
    allows?.(summary.skill_name, summary.tool_name) !== false
}
