/**
 * Decodes a stream of UTF-8 piece by piece: whole characters only, and at most the kept size of an output, so that all
 * pieces together are the beginning of the text of the whole stream.
 */
export class LiveText {
  readonly #bytesMax: number
  #bytes = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor (bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /**
   * Adds the next bytes.
   * @returns the text that can be shown now; empty from the piece on that exceeds the limit
   */
  add (chunk: Buffer): string {
    if (this.#bytes > this.#bytesMax) return ''
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = wholeEnd(bytes)
    this.#rest = bytes.subarray(end)
    const text = bytes.toString('utf8', 0, end)
    this.#bytes += Buffer.byteLength(text) // more than the bytes that came, where those were not UTF-8
    return this.#bytes > this.#bytesMax ? '' : text
  }
}

/** The texts of both streams of a command, each of at most so many bytes. */
export function liveTexts (bytesMax: number): { stdout: LiveText, stderr: LiveText } {
  return { stdout: new LiveText(bytesMax), stderr: new LiveText(bytesMax) }
}

/** The index where an incomplete last character begins; otherwise the length. */
function wholeEnd (bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length =
      byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
