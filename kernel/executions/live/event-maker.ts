import type { LiveEvent } from '../../contracts/live.ts'
import type { Execution, TimelineEntry } from '../../contracts/schemas.ts'
import { isoTime, unixTime } from '../../lib/time.ts'
import { idOf, type Position, type StreamName } from './position.ts'

/** The characters of a piece of output in one event. */
const pieceMax = 16_384

/** Something that a tool wrote or reported, with its text. */
export interface Entry extends Omit<TimelineEntry, 'length'> {
  /** How much of its stream it is: characters of stdout and stderr, otherwise 1. */
  length: number
}

type EventOf<Type extends LiveEvent['type']> = Extract<LiveEvent, { type: Type }>
type Own<Type extends LiveEvent['type']> =
  Omit<EventOf<Type>, 'type' | 'id' | 'execution_id' | 'skill_name' | 'tool_name' | 'at'>

/** Makes the events that one reader of an execution has not received yet, and moves its position. */
export class EventMaker {
  readonly #execution: Execution
  readonly #position: Position
  /** The events that were made and not taken. */
  #events: LiveEvent[] = []
  #characters = 0

  constructor (execution: Execution, position: Position) {
    this.#execution = execution
    this.#position = position
  }

  get position (): Readonly<Position> {
    return this.#position
  }

  /** The characters of the texts in the events that were not taken. */
  get characters (): number {
    return this.#characters
  }

  take (): LiveEvent[] {
    const events = this.#events
    this.#events = []
    this.#characters = 0
    return events
  }

  /** The transitions up to this number of them. */
  transitions (count: number): void {
    const { transitions } = this.#execution
    for (let n = this.#position.transitions; n < Math.min(count, transitions.length); n++) {
      const transition = transitions[n]
      if (transition === undefined) return
      this.#position.transitions = n + 1
      this.#add('transition', transition.at, { status: transition.status })
    }
  }

  /** What of an entry the reader does not have; and before it, how much of the stream was dropped. */
  entry (entry: Entry): void {
    const { stream, from, length } = entry
    const has = this.#position[stream]
    if (has >= from + length) return
    const at = isoTime(unixTime(this.#execution.created_at) + entry.after_ms)
    if (has < from) {
      this.#position[stream] = from
      this.#add('missed', at, { missed: { [stream]: from - has } })
    }
    if (stream === 'stdout' || stream === 'stderr') return this.text(stream, at, entry.text ?? '', from)
    this.#position[stream] = from + length
    if (stream === 'log') this.#add('log', at, { level: entry.level ?? 'info', text: entry.text ?? '' })
    else this.#progress(at, entry)
  }

  /** The part of a text that the reader does not have. @param from the characters of the stream before the text */
  text (stream: 'stdout' | 'stderr', at: string, text: string, from: number): void {
    for (let start = Math.max(0, this.#position[stream] - from); start < text.length;) {
      const piece = text.slice(start, endOfPiece(text, start))
      start += piece.length
      this.#position[stream] = from + start
      this.#add(stream, at, { text: piece })
    }
  }

  notice (text: string): void {
    this.#add('notice', isoTime(), { text })
  }

  end (): void {
    const { status, duration_ms, output_truncated, error, finished_at, created_at } = this.#execution
    this.#position.ended = true
    this.#add('end', finished_at ?? created_at, { status, duration_ms, output_truncated, error })
  }

  #progress (at: string, { done = 0, total, message }: Entry): void {
    this.#add('progress', at, {
      done, ...(total !== undefined && { total }), ...(message !== undefined && { message })
    })
  }

  #add<Type extends LiveEvent['type']> (type: Type, at: string, own: Own<Type>): void {
    const { id: execution_id, skill_name, tool_name } = this.#execution
    const event = { type, id: idOf(execution_id, this.#position), execution_id, skill_name, tool_name, at, ...own }
    // The fields of each type are checked by the type of `own`.
    this.#events.push(event as unknown as LiveEvent)
    this.#characters += 'text' in own && typeof own.text === 'string' ? own.text.length : 0
  }
}

/** Where a piece that begins here ends: not between the two halves of a character. */
function endOfPiece (text: string, start: number): number {
  const end = start + pieceMax
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end
}

/** Whether a stream holds characters; the others hold reports. */
export function isText (stream: StreamName): stream is 'stdout' | 'stderr' {
  return stream === 'stdout' || stream === 'stderr'
}
