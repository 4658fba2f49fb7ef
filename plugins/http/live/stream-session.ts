import {
  Canceller, messageOf, SkilletError, type LiveEvents, type LiveReader, type Logger
} from '../../../kernel/index.ts'
import type { Meter } from '../access/request-guard.ts'
import type { WebSocketConnection, WebSocketListener } from '../engine/web-socket.ts'
import { errorText, eventText, readFrame, type ClientFrame } from './frames.ts'
import type { OpenStream } from './open-streams.ts'

/** The subscriptions that one connection may have. */
const subscriptionsMax = 100
/** The bytes that a client has not taken, from which on nothing more is read for it. */
const waitingBytesMax = 262_144
/** The messages that a connection may send that are refused, before it ends. */
const refusedMax = 100

interface Dependencies {
  connection: WebSocketConnection
  live: LiveEvents
  meter: Meter
  stream: OpenStream
  log: Logger
}

/** A client at `/api/stream`: its subscriptions, and what was sent to it. */
export class StreamSession implements WebSocketListener {
  readonly #dependencies: Dependencies
  readonly #subscriptions = new Map<string, Canceller>()
  /** Wakes the subscriptions that wait until the client has read. */
  readonly #waiting = new Set<() => void>()
  #refused = 0

  constructor (dependencies: Dependencies) {
    this.#dependencies = dependencies
    const { stream: { signal }, connection } = dependencies
    const end = (): void => {
      connection.close(1001, 'the server stops, or the key is not valid any more')
      this.#end()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  }

  message (text: string): void {
    let id: string | undefined
    try {
      const frame = readFrame(text)
      id = frame.id
      const limited = this.#dependencies.meter.charge()
      if (limited !== undefined) throw limited
      if (frame.type === 'subscribe') this.#subscribe(frame)
      else this.#unsubscribe(frame.id)
    } catch (error) {
      this.#refuse(id, error)
    }
  }

  binary (): void {
    this.#refuse(undefined, new SkilletError('INVALID_PARAMETERS', 'a message must be a text that holds a JSON object'))
  }

  drained (): void {
    for (const wake of this.#waiting) wake()
  }

  closed (): void {
    this.#dependencies.stream.close()
    this.#end()
  }

  #end (): void {
    for (const canceller of this.#subscriptions.values()) canceller.abort()
    this.#subscriptions.clear()
    this.drained()
  }

  /** @throws SkilletError */
  #subscribe (frame: Extract<ClientFrame, { type: 'subscribe' }>): void {
    const { id, execution_id, skill_name, all, after } = frame
    if ([execution_id, skill_name, all].filter(value => value !== undefined).length !== 1) {
      const message = 'a subscription has exactly one of "execution_id", "skill_name" and "all"'
      throw new SkilletError('INVALID_PARAMETERS', message)
    }
    if (this.#subscriptions.has(id)) {
      throw new SkilletError('CONFLICT', `This connection has a subscription "${id}" already`)
    }
    if (this.#subscriptions.size >= subscriptionsMax) {
      throw new SkilletError('OVERLOADED', `A connection may have ${subscriptionsMax} subscriptions`)
    }
    const canceller = new Canceller()
    this.#subscriptions.set(id, canceller)
    const { live } = this.#dependencies
    const open = async (): Promise<LiveReader> => execution_id === undefined
      ? live.watch(skill_name === undefined ? {} : { skill_name }, after, canceller)
      : await live.follow(execution_id, after, canceller)
    this.#pass(id, open, canceller).catch((error: unknown) => { this.#refuse(id, error) })
  }

  /** Sends the events of a subscription, no faster than the client reads them. */
  async #pass (id: string, open: () => Promise<LiveReader>, canceller: Canceller): Promise<void> {
    const { connection } = this.#dependencies
    try {
      const reader = await open()
      connection.send(JSON.stringify({ type: 'subscribed', id }))
      for await (const events of reader) {
        for (const event of events) {
          while (connection.buffered_bytes > waitingBytesMax && !canceller.aborted) await this.#drain()
          if (canceller.aborted) return
          connection.send(eventText(id, event))
        }
      }
      if (!canceller.aborted) connection.send(JSON.stringify({ type: 'ended', id }))
    } finally {
      if (this.#subscriptions.get(id) === canceller) this.#subscriptions.delete(id)
    }
  }

  async #drain (): Promise<void> {
    await new Promise<void>(resolve => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
    })
  }

  #unsubscribe (id: string): void {
    const canceller = this.#subscriptions.get(id)
    if (canceller === undefined) {
      throw new SkilletError('NOT_FOUND', `This connection has no subscription "${id}"`)
    }
    this.#subscriptions.delete(id)
    canceller.abort()
    this.drained()
    this.#dependencies.connection.send(JSON.stringify({ type: 'ended', id }))
  }

  #refuse (id: string | undefined, thrown: unknown): void {
    const { connection, log } = this.#dependencies
    const error = SkilletError.from(thrown)
    if (error.code === 'INTERNAL') log.error({ error: messageOf(error.cause ?? error) }, 'a subscription met a fault')
    connection.send(errorText(id, error))
    if (++this.#refused >= refusedMax) connection.close(1008, 'too many messages were refused')
  }
}
