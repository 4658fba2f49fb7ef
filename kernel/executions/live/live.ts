import type { LiveEvents, LiveFilter, LiveReader } from '../../contracts/live.ts'
import type { Storage } from '../../contracts/storage.ts'
import type { CancelSignal } from '../../lib/cancel.ts'
import type { ActiveExecution } from '../active-execution.ts'
import type { ActiveExecutions } from '../active-executions.ts'
import { executionNotFound } from '../record.ts'
import { Feed } from './feed.ts'
import { follow, JournalReader, type Followed } from './follow.ts'
import { beginning, readPosition, type Position } from './position.ts'

/** How long a feed without readers goes on, so that one that comes back misses nothing, in milliseconds. */
const linger_ms = 30_000

/** The events of the executions of this process. */
export class Live implements LiveEvents {
  readonly #storage: Pick<Storage, 'get'>
  readonly #active: ActiveExecutions
  /** The feeds of a skill by its name, and those of all skills under the empty name. */
  readonly #feeds = new Map<string, Feed[]>()
  /** Ends the copying of an execution's events to the feeds. */
  readonly #copies = new Map<ActiveExecution, () => void>()

  constructor (storage: Pick<Storage, 'get'>, active: ActiveExecutions) {
    this.#storage = storage
    this.#active = active
  }

  async follow (id: string, after: string | undefined, signal: CancelSignal): Promise<LiveReader> {
    const stored = await this.#storage.get(id)
    if (stored === undefined) throw executionNotFound(id)
    const position = after === undefined ? beginning() : readPosition(id, after)
    return follow(id, position, {
      active: id => this.#active.getSaved(id),
      stored: id => this.#storage.get(id)
    }, signal)
  }

  watch (filter: LiveFilter, after: string | undefined, signal: CancelSignal): LiveReader {
    const feed = this.#feedOf(filter)
    const reader = feed.read(after, signal, () => {
      if (feed.readers === 0) setTimeout(() => { this.#end(feed) }, linger_ms).unref()
    })
    for (const active of this.#active.all()) this.#copy(active, presentOf(active))
    return reader
  }

  /** Whether somebody watches executions of this tool: they are then known outside from their beginning. */
  isWatched (skill_name: string, tool_name: string): boolean {
    return this.#feeds.size > 0 && this.#feedsOf(skill_name, tool_name).length > 0
  }

  /** Copies the events of a new execution to the feeds. */
  begin (active: ActiveExecution): void {
    if (this.#feeds.size > 0) this.#copy(active, beginning())
  }

  #feedOf (filter: LiveFilter): Feed {
    const name = filter.skill_name ?? ''
    const present = this.#feeds.get(name) ?? []
    const shared = present.find(feed => feed.filter.allows === filter.allows)
    if (shared !== undefined) return shared
    const feed = new Feed(filter)
    this.#feeds.set(name, [...present, feed])
    return feed
  }

  #feedsOf (skill_name: string, tool_name: string): Feed[] {
    const feeds = [...this.#feeds.get(skill_name) ?? [], ...this.#feeds.get('') ?? []]
    return feeds.filter(feed => feed.wants(skill_name, tool_name))
  }

  #end (feed: Feed): void {
    if (feed.readers > 0) return
    const name = feed.filter.skill_name ?? ''
    const others = (this.#feeds.get(name) ?? []).filter(other => other !== feed)
    if (others.length > 0) this.#feeds.set(name, others)
    else this.#feeds.delete(name)
    if (this.#feeds.size === 0) for (const stop of this.#copies.values()) stop()
  }

  #copy (active: ActiveExecution, position: Position): void {
    const { execution: { skill_name, tool_name } } = active
    if (this.#copies.has(active) || !this.isWatched(skill_name, tool_name)) return
    const reader = new JournalReader(active, position)
    let isDue = false
    const pass = (): void => {
      isDue = false
      for (let events = reader.read(); events.length > 0; events = reader.read()) {
        for (const feed of this.#feedsOf(skill_name, tool_name)) feed.push(events)
      }
      if (reader.ended) this.#copies.get(active)?.()
    }
    const stop = active.journal.onChange(() => {
      if (isDue) return
      isDue = true
      queueMicrotask(pass)
    })
    this.#copies.set(active, () => {
      stop()
      this.#copies.delete(active)
    })
  }
}

/** The position of a reader that begins now. */
function presentOf ({ execution, journal }: Followed): Position {
  return { transitions: execution.transitions.length, ...journal.counts(), ended: false }
}
