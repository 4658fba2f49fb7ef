/** The longest message of a server, in bytes. */
const lineBytesMax = 32 * 1_048_576

/** Cuts chunks into lines. Work and memory are linear in the length of a line. */
export class Lines {
  readonly #line: (line: Buffer) => void
  readonly #tooLong: (bytesMax: number) => void
  #parts: Buffer[] = []
  #bytes = 0

  /** @param tooLong called once for a line that is too long; nothing is taken after it */
  constructor (line: (line: Buffer) => void, tooLong: (bytesMax: number) => void) {
    this.#line = line
    this.#tooLong = tooLong
  }

  add (chunk: Buffer): void {
    let from = 0
    while (this.#bytes <= lineBytesMax) {
      const end = chunk.indexOf(10, from)
      const part = chunk.subarray(from, end === -1 ? undefined : end)
      this.#parts.push(part)
      this.#bytes += part.length
      if (this.#bytes > lineBytesMax) {
        this.#parts = []
        this.#tooLong(lineBytesMax)
        return
      }
      if (end === -1) return
      const line = this.#parts.length === 1 ? part : Buffer.concat(this.#parts)
      this.#parts = []
      this.#bytes = 0
      from = end + 1
      if (line.length > 0 && !(line.length === 1 && line[0] === 13)) this.#line(line)
    }
  }
}
