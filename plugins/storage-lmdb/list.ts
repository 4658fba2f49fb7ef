import { setImmediate } from 'node:timers/promises'
import { filteredTotalMax, SkilletError, type ExecutionPage, type ExecutionQuery, type ExecutionSummary } from '../../kernel/index.ts'
import { chunkLength, chunkOf, readChunk, statusNumbers, type Chunk } from './columns.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Environment } from './environment.ts'
import type { Bounds, History } from './history.ts'
import { nameVerdict } from './names.ts'

/** Chunks looked at in one turn of the event loop: about a third of a millisecond. */
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
  const { skill_name, tool_name, status, created_from_ms, created_before_ms } = query
  const isFiltered = [skill_name, tool_name, status, created_from_ms, created_before_ms].some(filter => filter !== undefined)
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
  const matches = matcher(history, query)
  const found: Found[] = []
  let total = 0
  let skip = offset
  let turn = 0
  for (let number = chunkOf(bounds.last); number >= chunkOf(bounds.first); number--) {
    // Past the greatest total, what stands above the cursor is of no interest.
    if (total >= filteredTotalMax) number = Math.min(number, chunkOf(Math.max(top, 0)))
    const chunk = readChunk(env, number)
    if (chunk === undefined) break // pruned meanwhile
    const end = Math.max(bounds.first, number * chunkLength)
    for (let sequence = Math.min(bounds.last, number * chunkLength + chunkLength - 1); sequence >= end; sequence--) {
      if (!matches(chunk, sequence)) continue
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

function matcher (history: History, { skill_name, tool_name, status, created_from_ms, created_before_ms }: ExecutionQuery): (chunk: Chunk, sequence: number) => boolean {
  history.names.refresh()
  const verdicts = history.names.verdicts(skill_name, tool_name)
  const statusNumber = status === undefined ? 0 : statusNumbers[status]
  const from_ms = created_from_ms ?? Number.NEGATIVE_INFINITY
  const before_ms = created_before_ms ?? Number.POSITIVE_INFINITY
  const isTimed = created_from_ms !== undefined || created_before_ms !== undefined
  return ({ created_ms, names, statuses }, sequence) => {
    const index = sequence % chunkLength
    if (statusNumber !== 0 && statuses[index] !== statusNumber) return false
    if (isTimed) {
      const at_ms = created_ms[index] ?? Number.NaN
      if (!(at_ms >= from_ms && at_ms < before_ms)) return false
    }
    if (verdicts === undefined) return true
    const verdict = verdicts[names[index] ?? 0]
    if (verdict !== nameVerdict.look) return verdict === nameVerdict.yes
    const summary = history.summary(sequence)
    return summary !== undefined && (skill_name === undefined || summary.skill_name === skill_name) && (tool_name === undefined || summary.tool_name === tool_name)
  }
}
