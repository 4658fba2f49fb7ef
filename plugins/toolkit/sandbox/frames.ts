/**
 * Frames between the server and a confined process: the length of a text in bytes, with 32 bits, little endian, and the
 * text, which is JSON. JSON alone, since what comes from such a process may be anything.
 */

const prefixBytes = 4
/** Taken before a tool could replace them: the confined process uses this file, too. */
const { parse, stringify } = JSON
const { byteLength } = Buffer
const allocate = Buffer.allocUnsafe.bind(Buffer)
const concat = Buffer.concat.bind(Buffer)

/** A value as a frame. */
export function frameOf (value: object): Buffer {
  const text = stringify(value)
  const frame = allocate(prefixBytes + byteLength(text))
  frame.writeUInt32LE(frame.length - prefixBytes)
  frame.write(text, prefixBytes)
  return frame
}

/** Why a text is no frame. */
export class FrameError extends Error {}

/** Cuts what comes into frames. */
export class FrameReader {
  readonly #bytesMax: number
  readonly #take: (value: unknown) => void
  #chunks: Buffer[] = []
  /** Bytes that have come, and that there must be before there is a frame. */
  #bytes = 0
  #needed = prefixBytes

  /**
   * @param bytesMax the longest text of a frame
   * @param take called with the value of each frame
   */
  constructor (bytesMax: number, take: (value: unknown) => void) {
    this.#bytesMax = bytesMax
    this.#take = take
  }

  /** @throws FrameError when a frame is too long, or is no JSON */
  add (chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#needed) return
    let rest = this.#chunks.length === 1 ? chunk : concat(this.#chunks)
    this.#needed = prefixBytes
    while (rest.length >= prefixBytes) {
      const end = prefixBytes + rest.readUInt32LE()
      if (end - prefixBytes > this.#bytesMax) throw new FrameError('a frame that is too long')
      if (rest.length < end) {
        this.#needed = end
        break
      }
      this.#take(valueOf(rest.toString('utf8', prefixBytes, end)))
      rest = rest.subarray(end)
    }
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#bytes = rest.length
  }
}

function valueOf (text: string): unknown {
  try {
    return parse(text) as unknown
  } catch (error) {
    throw new FrameError('a frame that is no JSON', { cause: error })
  }
}
