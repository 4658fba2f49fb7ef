import {
  executionWords, filteredTotalMax, hasAll, isFinal, pauses, type Execution, type ExecutionFilter, type
  ExecutionQuery, type SoughtWord, type Storage, type StoredExecution
} from '../../kernel/index.ts'
import { matcher, type Entry } from './entry.ts'

/** Calls a visitor for each entry that matches. */
export function visit (
  entries: Iterable<Entry>, filter: ExecutionFilter, visitorOf: Parameters<Storage['visit']>[1]
): void {
  const matches = matcher(filter)
  for (const entry of entries) {
    const { skill_name, tool_name, status, duration_ms } = entry.summary
    if (matches?.(entry) !== false) visitorOf(skill_name, tool_name)(status, entry.created_ms, duration_ms)
  }
}

/** The whole records of the entries that match and have ended, in the order of the entries. */
export function * recordsOf (
  entries: Iterable<Entry>, filter: ExecutionFilter
): Generator<Execution, void, undefined> {
  const matches = matcher(filter)
  for (const entry of entries) {
    if (!isFinal(entry.summary.status) || matches?.(entry) === false) continue
    yield (JSON.parse(entry.text) as StoredExecution).execution // as it was saved
  }
}

/**
 * The entries of a page, with one more than the limit if there is one, and how many match, up to `filteredTotalMax`.
 * @param all all entries, newest first
 * @param top the highest sequence number on the page
 */
export function scan (
  all: Iterable<Entry>, { limit, offset }: ExecutionQuery, top: number, matches: (entry: Entry) => boolean
): { entries: Entry[], total: number } {
  const entries: Entry[] = []
  let total = 0
  let skip = offset
  for (const entry of all) {
    if (entries.length > limit && total >= filteredTotalMax) break
    if (!matches(entry)) continue
    if (total < filteredTotalMax) total++
    if (entry.sequence > top || skip-- > 0) continue
    if (entries.length <= limit) entries.push(entry)
  }
  return { entries, total }
}

/** The entries that match a filter and have all words. It reads each record, and gives way to other work. */
export async function withWords (
  entries: Iterable<Entry>, words: readonly SoughtWord[], filter: ExecutionFilter
): Promise<ReadonlySet<Entry>> {
  const matches = matcher(filter)
  const found = new Set<Entry>()
  const pause = pauses()
  for (const entry of entries) {
    if (matches?.(entry) === false) continue
    const { execution } = JSON.parse(entry.text) as StoredExecution // as it was saved
    if (hasAll(executionWords(execution), words)) found.add(entry)
    await pause()
  }
  return found
}
