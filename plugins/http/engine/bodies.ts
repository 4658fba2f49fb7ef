import { List, SkilletError, type Listed } from '../../../kernel/index.ts'

export interface BodyLimits {
  /** The size limit of one body. */
  bytesMax: number
  /** The limit for all bodies that are held at the same time. */
  bytesHeldMax: number
  /** How long a body may take to arrive, even if it arrives slowly but steadily, in milliseconds. */
  timeout_ms: number
}

/** A body that is not read to its end. The rest that the client sends is dropped, and the connection ends. */
export class BodyCut extends SkilletError {}

export function tooLarge (bytesMax: number): BodyCut {
  return new BodyCut('PAYLOAD_TOO_LARGE', `body is larger than ${bytesMax} bytes, as server.body_bytes_max says`, {
    body_bytes_max: bytesMax
  })
}

/**
 * The bodies of all requests: limits the bytes that they hold, and the time that they take. A body counts until its
 * request is answered, since the data that was read from it is held until then.
 */
export class Bodies {
  readonly limits: BodyLimits
  readonly #arriving = new List<Body>()
  #held = 0
  #sweep: NodeJS.Timeout | undefined

  constructor (limits: BodyLimits) {
    this.limits = limits
  }

  /** Bytes held at this moment. */
  get held (): number {
    return this.#held
  }

  /**
   * Begins a body.
   * @param cut called at most once, when the body exceeds a limit; no bytes of the body are held any more
   */
  open (cut: (error: BodyCut) => void): Body {
    const body = new Body(this, cut)
    this.#arriving.push(body)
    // One timer for all bodies, since most bodies arrive at once; it stops while there are no bodies.
    this.#sweep ??= setInterval(() => { this.#cutLate() }, Math.min(1_000, this.limits.timeout_ms / 4)).unref()
    return body
  }

  /** @returns false when there is no room */
  take (bytes: number): boolean {
    if (this.#held + bytes > this.limits.bytesHeldMax) return false
    this.#held += bytes
    return true
  }

  give (bytes: number): void {
    this.#held -= bytes
  }

  /** Ends the time limit of a body that has arrived. */
  arrived (body: Body): void {
    this.#arriving.delete(body)
  }

  #cutLate (): void {
    if (this.#arriving.size === 0) {
      clearInterval(this.#sweep)
      this.#sweep = undefined
      return
    }
    const { timeout_ms } = this.limits
    const now_ms = performance.now()
    for (const body of this.#arriving) {
      if (now_ms - body.began_ms < timeout_ms) return // the bodies are in the order in which they began
      body.cut(new BodyCut(
        'INVALID_PARAMETERS',
        `body took longer than ${timeout_ms} ms to arrive, as server.body_timeout_ms says`,
        { body_timeout_ms: timeout_ms }
      ))
    }
  }
}

/**
 * Collects a body of bounded size. Its buffer grows by doubling, so that a body that arrives byte by byte costs little
 * more than its size.
 */
export class Body implements Listed<Body> {
  list: object | undefined
  previous: Body | undefined
  next: Body | undefined
  readonly began_ms = performance.now()
  readonly #bodies: Bodies
  readonly #onCut: (error: BodyCut) => void
  #buffer: Buffer | undefined
  #size = 0
  #taken = 0
  #over = false

  constructor (bodies: Bodies, onCut: (error: BodyCut) => void) {
    this.#bodies = bodies
    this.#onCut = onCut
  }

  /** Copies the chunk, since the engine reuses its memory. When the body was cut, the chunk is dropped. */
  add (chunk: Uint8Array): void {
    this.#collect(chunk)
  }

  /** @returns the bytes so far, with room behind them for the chunk; undefined when the body was cut */
  #collect (chunk: Uint8Array): Buffer | undefined {
    const size = this.#size + chunk.byteLength
    if (!this.#fits(size)) return undefined
    if (this.#buffer === undefined || size > this.#buffer.length) {
      const capacity = this.#buffer === undefined
        ? Math.max(size, 256)
        : Math.min(Math.max(size, 2 * this.#buffer.length), this.#bodies.limits.bytesMax)
      if (!this.#hold(capacity)) return undefined
      const grown = Buffer.allocUnsafe(capacity)
      this.#buffer?.copy(grown, 0, 0, this.#size)
      this.#buffer = grown
    }
    this.#buffer.set(chunk, this.#size)
    this.#size = size
    return this.#buffer
  }

  /**
   * Completes the body with this chunk. A body of one chunk is not copied.
   * @returns the body; undefined when it was cut
   */
  end (chunk: Uint8Array): Uint8Array | undefined {
    const alone = this.#size === 0 && this.#fits(chunk.byteLength) && this.#hold(chunk.byteLength)
    const bytes = alone ? chunk : this.#collect(chunk)?.subarray(0, this.#size)
    this.#buffer = undefined
    this.#bodies.arrived(this)
    return bytes
  }

  /** Cuts the body if it would exceed the size limit of one body. */
  #fits (size: number): boolean {
    const { bytesMax } = this.#bodies.limits
    if (size > bytesMax) this.cut(tooLarge(bytesMax))
    return !this.#over
  }

  /** Counts these bytes for the body, or cuts the body if all bodies together would exceed their limit. */
  #hold (capacity: number): boolean {
    const room = this.#bodies.take(capacity - this.#taken)
    if (room) {
      this.#taken = capacity
    } else {
      this.cut(new BodyCut('OVERLOADED', 'The server holds as many bytes of request bodies as server.bodies_bytes_max allows; try again later'))
    }
    return room
  }

  /** Drops the body, and reports the error. */
  cut (error: BodyCut): void {
    if (this.#over) return
    this.release()
    this.#onCut(error)
  }

  /** Releases the bytes: the request was answered, or no code waits for the body any more. */
  release (): void {
    if (this.#over) return
    this.#over = true
    this.#buffer = undefined
    this.#bodies.arrived(this)
    this.#bodies.give(this.#taken)
  }
}
