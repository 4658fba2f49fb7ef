export type Disposer = () => void | Promise<void>

/**
 * Undo list of whoever acquires resources: `defer` on the line after each acquisition, `close` once.
 * Disposers run last in, first out, each to its end before the next; one that fails does not stop the
 * others. (Node 20 has no AsyncDisposableStack.)
 */
export class Scope {
  readonly #disposers: Disposer[] = []
  readonly #failures: unknown[] = []
  readonly #reportLate: (error: unknown) => void
  /** Never rejects. */
  #undoing: Promise<void> | undefined

  /**
   * @param reportLate called with what a disposer threw that was registered after `close`: nobody may be left who waits
   * for that
   */
  constructor (reportLate: (error: unknown) => void = () => {}) {
    this.#reportLate = reportLate
  }

  /** Registers the undo of what was just acquired. On a closed scope it is undone at once. */
  defer (disposer: Disposer): void {
    if (this.#undoing === undefined) this.#disposers.push(disposer)
    else this.#undoing = this.#undoing.then(() => this.#undo(disposer, this.#reportLate))
  }

  /**
   * Undoes everything; later calls wait for the first, and for what was registered since. Rejects with an
   * AggregateError of what failed.
   */
  async close (): Promise<void> {
    await (this.#undoing ??= this.#undoAll())
    if (this.#failures.length > 0) throw new AggregateError([...this.#failures], `${this.#failures.length} resources could not be released`)
  }

  async #undoAll (): Promise<void> {
    for (let disposer = this.#disposers.pop(); disposer !== undefined; disposer = this.#disposers.pop()) await this.#undo(disposer)
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
