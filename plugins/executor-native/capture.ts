/**
 * The beginning of a stream: keeps bytes up to a limit, and counts the rest. It uses at most twice the memory of the
 * bytes that it keeps.
 */
export class Head {
  /** The total number of bytes in the stream. */
  bytes = 0
  readonly #max: number
  #buffer = Buffer.allocUnsafe(0)
  #kept = 0

  constructor (max: number) {
    this.#max = max
  }

  /** @returns how many bytes of the chunk are kept */
  add (chunk: Buffer): number {
    this.bytes += chunk.length
    const more = Math.min(chunk.length, this.#max - this.#kept)
    if (more === 0) return 0
    const length = this.#kept + more
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#max, Math.max(length, 2 * this.#buffer.length, 4096)))
      larger.set(this.#buffer.subarray(0, this.#kept))
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#kept, 0, more)
    this.#kept = length
    return more
  }

  get kept (): Buffer {
    return this.#buffer.subarray(0, this.#kept)
  }
}

/** The end of a stream: keeps the last bytes, up to a limit. */
export class Tail {
  /** The total number of bytes in the stream. */
  bytes = 0
  readonly #max: number
  #kept: Buffer = Buffer.alloc(0)

  constructor (max: number) {
    this.#max = max
  }

  add (chunk: Buffer): void {
    this.bytes += chunk.length
    const before = Math.max(0, Math.min(this.#kept.length, this.#max - chunk.length))
    this.#kept = Buffer.concat([
      this.#kept.subarray(this.#kept.length - before), chunk.subarray(Math.max(0, chunk.length - this.#max))
    ])
  }

  /** The kept bytes as text; when the beginning was dropped, the text begins at the first whole character. */
  get text (): string {
    let from = 0
    if (this.bytes > this.#kept.length) while (from < 3 && ((this.#kept[from] ?? 0) & 0xc0) === 0x80) from++
    return this.#kept.toString('utf8', from)
  }
}
