import type { LiveEvent, LiveReader } from '../../contracts/live.ts'
import type { Execution } from '../../contracts/schemas.ts'
import type { StoredExecution } from '../../contracts/storage.ts'
import type { CancelSignal } from '../../lib/cancel.ts'
import { delay } from '../../lib/delay.ts'
import { isFinal } from '../transitions.ts'
import { EventMaker } from './event-maker.ts'
import type { Journal } from './journal.ts'
import type { Position } from './position.ts'
import { makeFromRecord } from './record-events.ts'

/** The characters of a batch, after which it is handed over. */
const batch_characters = 65_536
/** How often the record of an execution of another process is read, in milliseconds. */
const poll_ms = 500

/** An execution of this process, for its readers. */
export interface Followed { readonly execution: Execution, readonly journal: Journal }

/** Where a reader finds an execution: in this process, and in the history. */
export interface Sources {
  active (id: string): Followed | undefined
  stored (id: string): Promise<StoredExecution | undefined>
}

/** Reads the entries of a journal for one reader. */
export class JournalReader {
  readonly #followed: Followed
  readonly #maker: EventMaker
  /** The entry that is read next. The last one that was read may have grown, so it is read again. */
  #next = 0

  constructor (followed: Followed, position: Position) {
    this.#followed = followed
    this.#maker = new EventMaker(followed.execution, position)
  }

  /** The next events; none when there is nothing new. The last state comes with the end, after its commit. */
  read (): LiveEvent[] {
    const { journal, execution } = this.#followed
    const maker = this.#maker
    this.#next = Math.max(this.#next, journal.first)
    while (this.#next < journal.end && maker.characters < batch_characters) {
      const kept = journal.at(this.#next)
      if (kept === undefined) break
      maker.transitions(kept.transitions)
      maker.entry(kept.entry)
      if (this.#next + 1 === journal.end) break
      this.#next++
    }
    const isAtEnd = this.#next + 1 >= journal.end && maker.characters < batch_characters
    if (isAtEnd && journal.closed && !maker.position.ended) makeFromRecord(execution, maker)
    else if (isAtEnd && !journal.closed) maker.transitions(unfinished(execution))
    return maker.take()
  }

  get ended (): boolean {
    return this.#maker.position.ended
  }
}

/** How many transitions may be shown before the end of the execution is in the history. */
function unfinished ({ transitions }: Execution): number {
  const last = transitions.at(-1)
  return last !== undefined && isFinal(last.status) ? transitions.length - 1 : transitions.length
}

/** The events of an execution behind a position, until its end. */
export async function * follow (
  id: string, position: Position, sources: Sources, signal: CancelSignal
): LiveReader {
  let noticed = false
  while (!position.ended && !signal.aborted) {
    const followed = sources.active(id)
    if (followed !== undefined) {
      yield * followJournal(followed, position, signal)
      continue
    }
    const stored = await sources.stored(id)
    if (stored === undefined) return // it was pruned meanwhile
    const { execution } = stored
    const maker = new EventMaker(execution, position)
    if (isFinal(execution.status) && stored.owner === null) makeFromRecord(execution, maker)
    else {
      if (!noticed) maker.notice(elsewhere)
      noticed = true
      maker.transitions(unfinished(execution))
    }
    const events = maker.take()
    if (events.length > 0) yield events
    if (!position.ended) await delay(poll_ms, signal)
  }
}

const elsewhere = 'Another process runs this execution: its states are read from the history twice a second, and its output follows when it has ended'

async function * followJournal (followed: Followed, position: Position, signal: CancelSignal): LiveReader {
  const reader = new JournalReader(followed, position)
  const bell = new Bell(signal)
  const stop = followed.journal.onChange(() => { bell.ring() })
  try {
    while (!reader.ended && !signal.aborted) {
      const events = reader.read()
      if (events.length > 0) yield events
      else await bell.rung()
    }
  } finally {
    stop()
    bell.close()
  }
}

/** Wakes one waiting reader. */
export class Bell {
  #isRung = false
  #wake: (() => void) | undefined
  readonly #signal: CancelSignal
  readonly #abort = (): void => { this.ring() }

  constructor (signal: CancelSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  ring (): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Resolves when the bell has been rung since the last call. */
  async rung (): Promise<void> {
    if (!this.#isRung && !this.#signal.aborted) await new Promise<void>(resolve => { this.#wake = resolve })
    this.#wake = undefined
    this.#isRung = false
  }

  close (): void {
    this.#signal.removeEventListener('abort', this.#abort)
  }
}
