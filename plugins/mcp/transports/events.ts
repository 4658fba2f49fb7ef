import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

/** How long an event is kept for a client that lost its connection, in milliseconds. */
const kept_ms = 5 * 60_000

/** Bytes that may be taken, shared by all who take them. */
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

/** What was sent in a session lately, so that a client can ask for what it missed: as much as there is room for. */
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
    const bytes = 256 + 2 * charactersIn(message) // as strings are held
    while (this.#events[0] !== undefined && this.#events[0].at_ms < now_ms - kept_ms) this.#drop()
    while (!this.#budget.take(bytes)) {
      if (this.#events.length === 0) return String(id) // others have all the budget: it can't be asked for again
      this.#drop()
    }
    this.#events.push({ id, stream, message, bytes, at_ms: now_ms })
    return String(id)
  }

  async getStreamIdForEventId (id: string): Promise<string | undefined> {
    return this.#find(id)?.stream
  }

  /** Whether an event was an answer: nothing follows it in its stream. */
  isLast (id: string): boolean {
    const message = this.#find(id)?.message
    return message !== undefined && !('method' in message) && 'id' in message
  }

  async replayEventsAfter (lastEventId: string, { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> }): Promise<string> {
    const last = this.#find(lastEventId)
    if (last === undefined) throw new Error('the event is not kept any more')
    for (const { id, message } of this.#events.filter(event => event.id > last.id && event.stream === last.stream)) {
      if ('jsonrpc' in message) await send(String(id), message) // an empty one only tells where a stream began
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

/** About how many characters a message has as text: to write it for this alone would take as long as to send it. */
function charactersIn (value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let characters = 8
  for (const [key, inner] of Object.entries(value)) characters += key.length + charactersIn(inner)
  return characters
}
