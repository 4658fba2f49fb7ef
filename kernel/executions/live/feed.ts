import { randomBytes } from 'node:crypto'
import type { LiveEvent, LiveFilter, LiveReader } from '../../contracts/live.ts'
import type { CancelSignal } from '../../lib/cancel.ts'
import { SkilletError } from '../../lib/errors.ts'
import { isoTime } from '../../lib/time.ts'
import { Bell } from './follow.ts'

/** What a feed keeps for readers that are slow, or come back: events, and characters of their texts. */
export const feedLimits = { events: 4_096, characters: 2 * 1_048_576 } as const
/** The events of a batch. */
const batch_events = 256

const pattern = /^feed-([0-9a-f]{16})-(\d{1,15})$/

/** The newest events of all executions that fit a filter. All readers with the same filter share them. */
export class Feed {
  readonly filter: LiveFilter
  /** Part of the ids of its events: an id of an earlier feed, or of another, is recognized. */
  readonly #mark = randomBytes(8).toString('hex')
  #events: LiveEvent[] = []
  /** The number of the first event in `#events`. */
  #base = 1
  #characters = 0
  readonly #bells = new Set<Bell>()

  constructor (filter: LiveFilter) {
    this.filter = filter
  }

  /** How many readers it has. */
  get readers (): number {
    return this.#bells.size
  }

  wants (skill_name: string, tool_name: string): boolean {
    const { filter } = this
    return (filter.skill_name === undefined || filter.skill_name === skill_name)
      && (filter.allows === undefined || filter.allows(skill_name, tool_name))
  }

  push (events: readonly LiveEvent[]): void {
    for (const event of events) {
      this.#events.push({ ...event, id: `feed-${this.#mark}-${this.#base + this.#events.length}` })
      this.#characters += charactersOf(event)
    }
    let drop = 0
    while (this.#events.length - drop > feedLimits.events || this.#characters > feedLimits.characters) {
      this.#characters -= charactersOf(this.#events[drop])
      if (++drop === this.#events.length) break
    }
    if (drop > 0) this.#events.splice(0, drop)
    this.#base += drop
    for (const bell of this.#bells) bell.ring()
  }

  /**
   * The events from now on, or behind the event `after`.
   * @param left called when the reader has ended
   * @throws SkilletError INVALID_PARAMETERS when `after` is not an id of an event of a feed
   */
  read (after: string | undefined, signal: CancelSignal, left: () => void): LiveReader {
    const match = after === undefined ? undefined : pattern.exec(after)
    if (match === null) {
      const quoted = (after ?? '').slice(0, 64)
      throw new SkilletError('INVALID_PARAMETERS', `"${quoted}" is not the id of an event of such a subscription`)
    }
    const end = this.#base + this.#events.length
    const isOwn = match?.[1] === this.#mark
    const next = isOwn ? Math.min(end, Number(match?.[2]) + 1) : end
    const bell = new Bell(signal)
    this.#bells.add(bell)
    return this.#reader(next, match !== undefined && !isOwn, bell, signal, left)
  }

  async * #reader (next: number, isLost: boolean, bell: Bell, signal: CancelSignal, left: () => void): LiveReader {
    try {
      if (isLost) yield [{ type: 'notice', id: this.#idBefore(next), at: isoTime(), text: lost }]
      while (!signal.aborted) {
        if (next < this.#base) {
          const events = this.#base - next
          next = this.#base
          yield [{ type: 'missed', id: this.#idBefore(next), at: isoTime(), missed: { events } }]
        }
        const from = next - this.#base
        const batch = this.#events.slice(from, from + batch_events)
        next += batch.length
        if (batch.length > 0) yield batch
        else await bell.rung()
      }
    } finally {
      this.#bells.delete(bell)
      bell.close()
      left()
    }
  }

  #idBefore (number: number): string {
    return `feed-${this.#mark}-${number - 1}`
  }
}

const lost = 'The id is of an event that is not kept any more: what happened since then is not in this stream; the history has it'

function charactersOf (event: LiveEvent | undefined): number {
  return 128 + (event !== undefined && 'text' in event ? event.text.length : 0)
}
