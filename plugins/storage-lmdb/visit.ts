import { setImmediate } from 'node:timers/promises'
import {
  isFinal, pauses, type Execution, type ExecutionFilter, type ExecutionVisitor, type Storage
} from '../../kernel/index.ts'
import { chunkLength, chunkOf, durationUnknown, readChunk, type Chunk } from './columns.ts'
import type { Environment } from './environment.ts'
import { filterOf, hits, isMatch, isNamed, select } from './filter.ts'
import type { History } from './history.ts'
import { statusOf } from './rows.ts'

/** The records that `recordsOf` reads in one turn of the event loop, and the characters of their outputs. */
const recordsPerTurn = 64
const charactersPerTurn = 262_144

/** Chunks that are visited before the time is looked at: some hundredths of a millisecond. */
const chunksPerLook = 4

type VisitorOf = Parameters<Storage['visit']>[1]

/** Calls a visitor for each committed execution that matches. */
export async function visit (
  env: Environment, history: History, filter: ExecutionFilter, visitorOf: VisitorOf
): Promise<void> {
  const bounds = history.bounds()
  const compared = filterOf(history, filter)
  const visitRow = (sequence: number): void => {
    const summary = history.summary(sequence)
    if (!isMatch(summary, filter)) return
    const { skill_name, tool_name, status, created_at, duration_ms } = summary
    visitorOf(skill_name, tool_name)(status, Date.parse(created_at), duration_ms)
  }
  for (const sequence of Array.from(history.aside(bounds.first - 1, bounds.aside))) visitRow(sequence)
  const visitors = new Visitors(history, visitorOf)
  const pause = pauses()
  for (let number = chunkOf(bounds.first); number <= chunkOf(bounds.last); number++) {
    const chunk = readChunk(env, number)
    if (chunk === undefined) continue // pruned meanwhile
    const base = number * chunkLength
    const low = Math.max(bounds.first - base, 0)
    const count = select(compared, chunk, low, Math.min(bounds.last - base, chunkLength - 1))
    for (let hit = 0; hit < count; hit++) {
      const index = hits[hit] as number
      if (!visitors.visit(chunk, index)) visitRow(base + index)
    }
    if (number % chunksPerLook === 0) await pause()
  }
}

/** The visitors of tools by the number of the tool. */
class Visitors {
  readonly #history: History
  readonly #visitorOf: VisitorOf
  readonly #byNumber: (ExecutionVisitor | undefined)[] = []

  constructor (history: History, visitorOf: VisitorOf) {
    this.#history = history
    this.#visitorOf = visitorOf
  }

  /** @returns false when the columns do not have the facts, so that the row must be read */
  visit ({ names, durations_ms, statuses, created_ms }: Chunk, index: number): boolean {
    const number = names[index] as number
    const duration_ms = durations_ms[index] as number
    const visitor = this.#byNumber[number] ?? this.#add(number)
    if (visitor === undefined || duration_ms === durationUnknown) return false
    visitor(statusOf(statuses[index]), created_ms[index] as number, duration_ms)
    return true
  }

  #add (number: number): ExecutionVisitor | undefined {
    const pair = this.#history.names.pairOf(number)
    return pair === undefined ? undefined : this.#byNumber[number] = this.#visitorOf(...pair)
  }
}

/** The whole committed records that match and have ended, oldest first. */
export async function * recordsOf (
  env: Environment, history: History, filter: ExecutionFilter
): AsyncGenerator<Execution, void, undefined> {
  const { last } = history.bounds()
  let { first } = history.bounds()
  let read = 0
  let characters = 0
  for (let number = chunkOf(first); number <= chunkOf(last); number++) {
    first = Math.max(first, history.bounds().first) // what was pruned meanwhile
    const chunk = readChunk(env, number)
    if (chunk === undefined) continue
    const base = number * chunkLength
    const high = Math.min(last - base, chunkLength - 1)
    const count = select(filterOf(history, filter), chunk, Math.max(first - base, 0), high)
    for (const index of Array.from(hits.subarray(0, count)).toReversed()) {
      if (!isFinal(statusOf(chunk.statuses[index]))) continue
      const execution = history.read(base + index)?.execution
      if (execution === undefined || !isNamed(execution, filter)) continue
      yield execution
      characters += execution.output.length
      if (++read % recordsPerTurn > 0 && characters < charactersPerTurn) continue
      characters = 0
      await setImmediate()
    }
    if (count === 0) await setImmediate()
  }
}
