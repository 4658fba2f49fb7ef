export type Disposer = () => void | Promise<void>

/**
 * A list of functions that release resources. Call `defer` on the line after each acquisition, and `close` once.
 * Disposers run last in, first out; each disposer ends before the next disposer starts. When a disposer fails, the
 * remaining disposers run nevertheless. (Node 20 has no AsyncDisposableStack.)
 */
export class Scope {
  readonly #disposers: Disposer[] = []
  readonly #failures: unknown[] = []
  readonly #reportLate: (error: unknown) => void
  /** Never rejects. */
  #undoing: Promise<void> | undefined

  /**
   * @param reportLate callback: receives the error of a disposer that was registered after `close`, because perhaps no
   * caller waits for that disposer
   */
  constructor (reportLate: (error: unknown) => void = () => {}) {
    this.#reportLate = reportLate
  }

  /** Registers the function that releases an acquired resource. On a closed scope, the function runs at once. */
  defer (disposer: Disposer): void {
    if (this.#undoing === undefined) this.#disposers.push(disposer)
    else this.#undoing = this.#undoing.then(() => this.#undo(disposer, this.#reportLate))
  }

  /**
   * Runs all disposers. A later call waits for the first call, and for disposers that were registered since. Rejects
   * with an AggregateError of all errors.
   */
  async close (): Promise<void> {
    await (this.#undoing ??= this.#undoAll())
    if (this.#failures.length > 0) {
      throw new AggregateError([...this.#failures], `${this.#failures.length} resources could not be released`)
    }
  }

  async #undoAll (): Promise<void> {
    for (let disposer = this.#disposers.pop(); disposer !== undefined; disposer = this.#disposers.pop()) {
      await this.#undo(disposer)
    }
  }

  async #undo (disposer: Disposer, report?: (error: unknown) => void): Promise<void> {
    try {
      await disposer()
    } catch (error) {
      this.#failures.push(error)
      report?.(error)
    }
  }
}
