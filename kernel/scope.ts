export type Disposer = () => void | Promise<void>

/**
 * Undo list of whoever acquires resources: `defer` on the line after each acquisition, `close` once.
 * Disposers run last in, first out, each to its end before the next; one that fails does not stop the
 * others. (Node 20 has no AsyncDisposableStack.)
 */
export class Scope {
  readonly #disposers: Disposer[] = []
  #closing: Promise<void> | undefined

  /** Registers the undo of what was just acquired. On a closed scope it is undone at once. */
  defer (disposer: Disposer): void {
    if (this.#closing === undefined) this.#disposers.push(disposer)
    else this.#closing = this.#closing.finally(disposer)
  }

  /** Undoes everything; later calls wait for the first. Rejects with an AggregateError of what failed. */
  close (): Promise<void> {
    return this.#closing ??= this.#run()
  }

  async #run (): Promise<void> {
    const failures: unknown[] = []
    for (let disposer = this.#disposers.pop(); disposer !== undefined; disposer = this.#disposers.pop()) {
      try {
        await disposer()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} resources could not be released`)
  }
}
