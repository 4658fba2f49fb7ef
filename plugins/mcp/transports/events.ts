import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

/** How long an event is kept for a client that lost its connection, in milliseconds. */
const kept_ms = 5 * 60_000

/** A byte budget that several users share. */
export class ByteBudget {
  #left: number

  constructor (bytes: number) {
    this.#left = bytes
  }

  take (bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  give (bytes: number): void {
    this.#left += bytes
  }
}

interface Kept { id: number, stream: string, message: JSONRPCMessage, bytes: number, at_ms: number }

/** The recent messages of a session, so that a client can request those that it missed. The byte budget limits them. */
export class RecentEvents implements EventStore {
  readonly #budget: ByteBudget
  readonly #events: Kept[] = []
  #count = 0

  constructor (budget: ByteBudget) {
    this.#budget = budget
  }

  async storeEvent (stream: string, message: JSONRPCMessage): Promise<string> {
    const id = ++this.#count
    const now_ms = performance.now()
    const bytes = 256 + 2 * charactersIn(message) // strings take two bytes per character
    while (this.#events[0] !== undefined && this.#events[0].at_ms < now_ms - kept_ms) this.#drop()
    while (!this.#budget.take(bytes)) {
      // other sessions use the whole budget, so this event can't be replayed
      if (this.#events.length === 0) return String(id)
      this.#drop()
    }
    this.#events.push({ id, stream, message, bytes, at_ms: now_ms })
    return String(id)
  }

  async getStreamIdForEventId (id: string): Promise<string | undefined> {
    return this.#find(id)?.stream
  }

  /** Whether an event was an answer, which is the last event of its stream. */
  isLast (id: string): boolean {
    const message = this.#find(id)?.message
    return message !== undefined && !('method' in message) && 'id' in message
  }

  async replayEventsAfter (
    lastEventId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> }
  ): Promise<string> {
    const last = this.#find(lastEventId)
    if (last === undefined) throw new Error('the event is not kept any more')
    for (const { id, message } of this.#events.filter(event => event.id > last.id && event.stream === last.stream)) {
      if ('jsonrpc' in message) await send(String(id), message) // an empty message only marks the beginning of a stream
    }
    return last.stream
  }

  clear (): void {
    while (this.#events.length > 0) this.#drop()
  }

  #find (id: string): Kept | undefined {
    return this.#events.find(event => String(event.id) === id)
  }

  #drop (): void {
    const oldest = this.#events.shift()
    if (oldest !== undefined) this.#budget.give(oldest.bytes)
  }
}

/**
 * The approximate number of characters of a message as text: serializing it only to count would take as long as sending
 * it.
 */
function charactersIn (value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let characters = 8
  for (const [key, inner] of Object.entries(value)) characters += key.length + charactersIn(inner)
  return characters
}
