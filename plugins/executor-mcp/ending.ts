import type { CancelSignal } from '../../kernel/index.ts'

/** Why a run ends before its tool did. */
export type Why = 'cancelled' | 'timeout'

/** What ends a run early. One controller for all reasons: combining signals would cost as much as a short call. */
export class Ending {
  readonly #controller = new AbortController()
  readonly #caller: CancelSignal
  readonly #cancel = (): void => { this.end('cancelled') }
  #timer: NodeJS.Timeout | undefined
  /** What is left of the time limit when the timer begins, in milliseconds; undefined without a limit. */
  #left_ms: number | undefined
  #began_ms = 0
  #pauses = 0
  #closed = false
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
    this.#left_ms = timeout_ms
    if (this.#pauses === 0) this.#begin()
  }

  /** Time does not count until the returned function is called. */
  pause (): () => void {
    if (this.#pauses++ === 0 && this.#left_ms !== undefined) {
      clearTimeout(this.#timer)
      this.#left_ms -= performance.now() - this.#began_ms
    }
    return () => { if (--this.#pauses === 0 && this.#left_ms !== undefined && !this.#closed) this.#begin() }
  }

  #begin (): void {
    this.#began_ms = performance.now()
    this.#timer = setTimeout(() => { this.end('timeout') }, Math.max(0, this.#left_ms ?? 0))
  }

  end (why: Why): void {
    if (this.why !== undefined) return
    this.why = why
    this.#controller.abort(new Error(why === 'timeout' ? 'the time limit was reached' : 'the call was cancelled'))
  }

  /** Lets go of the caller and the timer. */
  close (): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#caller.removeEventListener('abort', this.#cancel)
  }
}
