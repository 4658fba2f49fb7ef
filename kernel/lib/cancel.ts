/**
 * A signal of a cancellation. Every AbortSignal is a CancelSignal. For code that only listens, a `Canceller` is enough.
 * It costs a tenth of an AbortController with its signal, which would be most of the kernel's cost for a short
 * execution.
 */
export interface CancelSignal {
  readonly aborted: boolean
  /** Adds a listener, which is called once, when the signal aborts. It is not called when the signal aborted before. */
  addEventListener (type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** A controller that is its own signal. Most have a single listener, so the first listener is stored without a list. */
export class Canceller implements CancelSignal {
  #aborted = false
  #first: (() => void) | undefined
  #others: (() => void)[] | undefined

  get aborted (): boolean {
    return this.#aborted
  }

  abort (): void {
    if (this.#aborted) return
    this.#aborted = true
    const first = this.#first
    const others = this.#others
    this.#first = this.#others = undefined
    first?.()
    for (const listener of others ?? []) listener()
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    if (this.#aborted) return
    if (this.#first === undefined && this.#others === undefined) this.#first = listener
    else (this.#others ??= []).push(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    if (this.#first === listener) this.#first = undefined
    else this.#others = this.#others?.filter(other => other !== listener)
  }
}

/** Returns an AbortSignal that follows the signal, for code that needs an AbortSignal. */
export function abortSignalOf (signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  if (signal.aborted) controller.abort()
  else signal.addEventListener('abort', () => { controller.abort() }, { once: true })
  return controller.signal
}
