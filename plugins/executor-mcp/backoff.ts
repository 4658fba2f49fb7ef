import { setTimeout as pause } from 'node:timers/promises'

/** The pause after the second failure in a row, in milliseconds; it doubles with each further one. */
const pause_ms = { first: 500, most: 60_000 }
/** The longest pause that a call waits for, in milliseconds; a longer one fails it. */
const patience_ms = 2_000

/** The pauses between starts of a server that fails again and again. */
export class Backoff {
  #failures = 0
  #last = ''
  #until_ms = 0

  failed (why: string): void {
    this.#failures++
    this.#last = why
    const paused_ms = this.#failures < 2 ? 0 : Math.min(pause_ms.first * 2 ** (this.#failures - 2), pause_ms.most)
    this.#until_ms = performance.now() + paused_ms
  }

  reset (): void {
    this.#failures = this.#until_ms = 0
  }

  /**
   * Waits until the server may be started, if that is soon.
   * @returns why it may not be started yet; undefined when it may
   */
  async wait (signal: AbortSignal): Promise<string | undefined> {
    const left_ms = this.#until_ms - performance.now()
    if (left_ms <= 0) return undefined
    if (left_ms > patience_ms) {
      return `${this.#last}; that was ${this.#failures} times in a row, and it is started again in ${Math.ceil(left_ms / 1000)} s at the earliest`
    }
    await pause(left_ms, undefined, { signal })
    return undefined
  }
}
