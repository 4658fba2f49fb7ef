import type { CancelSignal } from '../../kernel/index.ts'

/** Why a run ends before its tool did. */
export type Why = 'cancelled' | 'timeout'

/** What ends a run early. One controller for all reasons: combining signals would cost as much as a short call. */
export class Ending {
  readonly #controller = new AbortController()
  readonly #caller: CancelSignal
  readonly #cancel = (): void => { this.end('cancelled') }
  #timer: NodeJS.Timeout | undefined
  /** The first reason; undefined while the run goes on. */
  why: Why | undefined

  /** @param caller the signal of the caller, which cancels the run */
  constructor (caller: CancelSignal) {
    this.#caller = caller
    caller.addEventListener('abort', this.#cancel, { once: true })
  }

  get signal (): AbortSignal {
    return this.#controller.signal
  }

  /** Ends the run after its time limit, in milliseconds. */
  limit (timeout_ms: number): void {
    this.#timer = setTimeout(() => { this.end('timeout') }, timeout_ms)
  }

  end (why: Why): void {
    if (this.why !== undefined) return
    this.why = why
    this.#controller.abort(new Error(why === 'timeout' ? 'the time limit was reached' : 'the call was cancelled'))
  }

  /** Lets go of the caller and the timer. */
  close (): void {
    clearTimeout(this.#timer)
    this.#caller.removeEventListener('abort', this.#cancel)
  }
}
