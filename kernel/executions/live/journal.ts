import type { TimelineEntry } from '../../contracts/schemas.ts'
import { isText, type Entry } from './event-maker.ts'
import type { StreamName } from './position.ts'

/** What a journal holds, and what all journals together hold, as characters of memory. */
export const journalLimits = { entries: 4_096, characters: 2 * 1_048_576, characters_of_all: 64 * 1_048_576 } as const
/** What the record of an execution keeps of its journal: its end. */
export const timelineLimits = { entries: 1_000, characters: 65_536 } as const

/** Pieces of one stream that come within this time are one entry, up to this size. */
const joined = { ms: 50, characters: 8_192 } as const
/** The memory of an entry beside its texts, as characters. */
const entry_characters = 64

/** How many dropped entries are removed at a time. */
const compact_entries = 64

/** What all journals of a process hold. */
export class JournalBudget {
  characters = 0
}

/** An entry, and how many transitions came before it. */
interface Kept { entry: Entry, transitions: number }

/**
 * What an execution wrote and reported, while it runs: its newest part, for readers that come late or are slow. A
 * reader holds a number of an entry and takes what follows, so that it costs the journal nothing.
 */
export class Journal {
  /** How much came of each stream. */
  readonly #counts: Record<StreamName, number> = { stdout: 0, stderr: 0, log: 0, progress: 0 }
  readonly #budget: JournalBudget
  #kept: Kept[] = []
  /** The place in `#kept` of the oldest entry; those before it are dropped. */
  #head = 0
  /** The number of the first entry in `#kept`. */
  #base = 0
  #characters = 0
  #closed = false
  readonly #readers = new Set<() => void>()

  constructor (budget: JournalBudget) {
    this.#budget = budget
  }

  /** Whether the execution has ended and its record is in the history. */
  get closed (): boolean {
    return this.#closed
  }

  /** The number of the oldest entry, and of the entry after the newest. */
  get first (): number {
    return this.#base + this.#head
  }

  get end (): number {
    return this.#base + this.#kept.length
  }

  at (number: number): Kept | undefined {
    return this.#kept[number - this.#base]
  }

  counts (): Readonly<Record<StreamName, number>> {
    return this.#counts
  }

  /**
   * Adds what a tool wrote or reported.
   * @param after_ms milliseconds since the execution was created
   * @param transitions how many transitions the execution has
   */
  add (
    stream: StreamName, after_ms: number, transitions: number,
    own: Pick<Entry, 'text' | 'level' | 'done' | 'total' | 'message'>
  ): void {
    if (this.#closed) return
    const text = own.text ?? ''
    const length = isText(stream) ? text.length : 1
    if (length === 0) return
    const last = this.#kept.at(-1)
    if (last?.transitions === transitions && isText(stream) && joins(last.entry, stream, after_ms)) {
      last.entry.text = (last.entry.text ?? '') + text
      last.entry.length += length
      this.#count(length)
    } else {
      this.#kept.push({ entry: { after_ms, stream, from: this.#counts[stream], length, ...own }, transitions })
      this.#count(entry_characters + text.length + (own.message?.length ?? 0))
    }
    this.#counts[stream] += length
    this.#drop()
    this.wake()
  }

  /** Tells the readers that there is something new. */
  wake (): void {
    for (const reader of this.#readers) reader()
  }

  /** Calls a function whenever there is something new, until the returned function is called. */
  onChange (reader: () => void): () => void {
    this.#readers.add(reader)
    return () => {
      this.#readers.delete(reader)
      if (this.#closed && this.#readers.size === 0) this.#clear()
    }
  }

  /**
   * The execution has ended and its record is in the history: readers take from there what they do not find here. The
   * entries stay for the present readers, unless all journals together hold too much.
   */
  close (): void {
    if (this.#closed) return
    this.#closed = true
    this.wake()
    if (this.#readers.size === 0 || this.#budget.characters > journalLimits.characters_of_all) this.#clear()
  }

  #clear (): void {
    this.#count(-this.#characters)
    this.#base = this.end
    this.#head = 0
    this.#kept = []
  }

  /** What the record keeps; undefined when there is nothing. Of standard output only where it is in the output. */
  timeline (): TimelineEntry[] | undefined {
    const entries: TimelineEntry[] = []
    let characters = 0
    for (let n = this.end - 1; n >= this.first && entries.length < timelineLimits.entries; n--) {
      const entry = this.at(n)?.entry
      if (entry === undefined) break
      const { length, text, ...rest } = entry
      const isOutput = entry.stream === 'stdout'
      characters += isOutput ? 0 : (text?.length ?? 0) + (entry.message?.length ?? 0)
      if (characters > timelineLimits.characters) break
      entries.push(isOutput ? { ...rest, length } : { ...rest, ...(text !== undefined && { text }) })
    }
    return entries.length === 0 ? undefined : entries.toReversed()
  }

  #count (characters: number): void {
    this.#characters += characters
    this.#budget.characters += characters
  }

  /** Drops the oldest entries while this journal, or all together, hold too much. The newest entry stays. */
  #drop (): void {
    while (this.#kept.length - this.#head > 1 && this.#holdsTooMuch()) {
      const { entry } = this.#kept[this.#head++] ?? {}
      this.#count(-(entry_characters + (entry?.text?.length ?? 0) + (entry?.message?.length ?? 0)))
    }
    if (this.#head < compact_entries) return
    this.#kept = this.#kept.slice(this.#head)
    this.#base += this.#head
    this.#head = 0
  }

  #holdsTooMuch (): boolean {
    return this.#kept.length - this.#head > journalLimits.entries
      || this.#characters > journalLimits.characters
      || this.#budget.characters > journalLimits.characters_of_all
  }
}

function joins (last: Entry, stream: StreamName, after_ms: number): boolean {
  return last.stream === stream && after_ms - last.after_ms < joined.ms && last.length < joined.characters
}

/** The memory of a timeline in a record, in bytes. */
export function timelineBytes (timeline: readonly TimelineEntry[] | undefined): number {
  if (timeline === undefined) return 0
  let bytes = 0
  for (const { text, message } of timeline) {
    bytes += 128 + 2 * ((text?.length ?? 0) + (message?.length ?? 0))
  }
  return bytes
}
