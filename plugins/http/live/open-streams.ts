import { Canceller, SkilletError, type Access, type CancelSignal } from '../../../kernel/index.ts'

/** A stream of events to a client, or a connection that has such streams. */
export interface OpenStream {
  /** Aborts when the stream must end: the client left, its key was revoked, or the server stops. */
  readonly signal: CancelSignal
  /** Ends the stream. */
  close (): void
}

/** The streams that are open: their number is limited, and all end with the server. */
export class OpenStreams {
  readonly #max: number
  readonly #open = new Set<() => void>()
  readonly #byCaller = new Map<string, number>()

  /** @param max how many may be open; one caller may have half of them */
  constructor (max: number) {
    this.#max = max
  }

  /**
   * Opens a stream. The caller closes it.
   * @param gone aborts when the client disconnects
   * @throws SkilletError OVERLOADED when as many are open as may be
   */
  open (caller: string, access: Access | undefined, gone: CancelSignal): OpenStream {
    const own = this.#byCaller.get(caller) ?? 0
    const isTooMany = own >= Math.ceil(this.#max / 2)
    if (isTooMany || this.#open.size >= this.#max) {
      const who = isTooMany ? 'This caller has' : 'The server has'
      throw new SkilletError(
        'OVERLOADED', `${who} ${isTooMany ? own : this.#open.size} streams of events, as many as server.streams_max allows; close some, or try again later`
      )
    }
    const canceller = new Canceller()
    const close = (): void => {
      if (!this.#open.delete(close)) return
      const left = (this.#byCaller.get(caller) ?? 1) - 1
      if (left === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, left)
      gone.removeEventListener('abort', close)
      access?.revoked?.removeEventListener('abort', close)
      canceller.abort()
    }
    this.#open.add(close)
    this.#byCaller.set(caller, own + 1)
    gone.addEventListener('abort', close, { once: true })
    access?.revoked?.addEventListener('abort', close, { once: true })
    if (gone.aborted || access?.revoked?.aborted === true) close()
    return { signal: canceller, close }
  }

  /** Ends all streams. */
  end (): void {
    for (const close of this.#open) close()
  }
}
