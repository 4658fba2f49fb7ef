/** A map that forgets what was not asked for longest. */
export class Recent<Value> {
  readonly #max: number
  readonly #values = new Map<string, Value>()

  /** @param max entries kept */
  constructor (max: number) {
    this.#max = max
  }

  get (key: string): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  set (key: string, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#max) return
    const [oldest] = this.#values.keys()
    if (oldest !== undefined) this.#values.delete(oldest)
  }

  clear (): void {
    this.#values.clear()
  }
}
