/** An item of a list. Only the list sets these fields. */
export interface Listed<T> {
  list: object | undefined
  previous: T | undefined
  next: T | undefined
}

/**
 * A doubly linked list whose items hold their neighbours. An item can be in one list at most. The list removes an item
 * in constant time and keeps no reference to it. The tables of a Map through which thousands of values pass in a second
 * grow old, and hold the removed values until the next full garbage collection (a third of the collector's work, when
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

  /** Removes an item. @returns whether the item was in the list */
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

  /** Iterates from the first item. The present item may be deleted during the iteration. */
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
