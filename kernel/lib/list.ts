/** What can stand in a list. Its fields are the list's. */
export interface Listed<T> {
  list: object | undefined
  previous: T | undefined
  next: T | undefined
}

/**
 * A doubly linked list whose items hold their neighbours; an item is in one list at most. Anything is dropped at once,
 * however long the list, and nothing of it stays behind: the tables of a Map through which thousands of values pass in
 * a second grow old, and hold what was in them until the collector's next full round (a third of all it did, when
 * executions went through three Maps).
 */
export class List<T extends Listed<T>> {
  #first: T | undefined
  #last: T | undefined
  #size = 0

  get size (): number {
    return this.#size
  }

  get first (): T | undefined {
    return this.#first
  }

  has (item: T): boolean {
    return item.list === this
  }

  push (item: T): void {
    this.#enter(item)
    item.previous = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
  }

  /** Puts an item before all others. */
  unshift (item: T): void {
    this.#enter(item)
    item.next = this.#first
    if (this.#first === undefined) this.#last = item
    else this.#first.previous = item
    this.#first = item
  }

  /** @returns whether it was there */
  delete (item: T): boolean {
    if (!this.has(item)) return false
    const { previous, next } = item
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.list = item.previous = item.next = undefined
    this.#size--
    return true
  }

  shift (): T | undefined {
    const first = this.#first
    if (first !== undefined) this.delete(first)
    return first
  }

  /** From the first on; the one that is taken at the moment may be deleted. */
  * [Symbol.iterator] (): Generator<T, void> {
    for (let item = this.#first; item !== undefined;) {
      const { next } = item
      yield item
      item = next
    }
  }

  #enter (item: T): void {
    if (item.list !== undefined) throw new Error('an item can be in one list only')
    item.list = this
    this.#size++
  }
}
