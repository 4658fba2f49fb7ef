interface Node<T> { readonly value: T, previous: Node<T> | undefined, next: Node<T> | undefined }

/** First in, first out; anything in it can be dropped at once, however long it is. A value stands in it once at most. */
export class Queue<T> {
  readonly #nodes = new Map<T, Node<T>>()
  #first: Node<T> | undefined
  #last: Node<T> | undefined

  get size (): number {
    return this.#nodes.size
  }

  push (value: T): void {
    const node: Node<T> = { value, previous: this.#last, next: undefined }
    if (this.#last === undefined) this.#first = node
    else this.#last.next = node
    this.#last = node
    this.#nodes.set(value, node)
  }

  /** Puts a value before all others. */
  unshift (value: T): void {
    const node: Node<T> = { value, previous: undefined, next: this.#first }
    if (this.#first === undefined) this.#last = node
    else this.#first.previous = node
    this.#first = node
    this.#nodes.set(value, node)
  }

  shift (): T | undefined {
    const value = this.#first?.value
    if (value !== undefined) this.delete(value)
    return value
  }

  /** @returns whether it was there */
  delete (value: T): boolean {
    const node = this.#nodes.get(value)
    if (node === undefined) return false
    this.#nodes.delete(value)
    if (node.previous === undefined) this.#first = node.next
    else node.previous.next = node.next
    if (node.next === undefined) this.#last = node.previous
    else node.next.previous = node.previous
    return true
  }

  /** From the first on; what is taken at the moment may be deleted. */
  * [Symbol.iterator] (): Generator<T, void> {
    for (let node = this.#first; node !== undefined; node = node.next) yield node.value
  }

  first (): T | undefined {
    return this.#first?.value
  }
}
