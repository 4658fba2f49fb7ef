import { usedBytes } from './process-tree.ts'

/** A process while it has work. */
export interface WatchedProcess {
  /** The process that the server started; those inside are below it. */
  readonly pid: number | undefined
  readonly since_ms: number
  /** It uses more memory than it may. */
  exhausted (): void
}

const tick_ms = 25
/** What ends sooner than this is never looked at, so that short runs cost nothing. */
const young_ms = 25
/** What Node itself takes, and young objects and buffers that are garbage. */
const ownBytes = 160 * 1_048_576
/** More than it may for so long, or by so much that it can be no garbage. */
const surely = { ms: 300, bytes: 384 * 1_048_576 }

/**
 * Ends a confined process that uses more memory than it may, with all that it started. The system tells how much that
 * is, so nothing that a process does to itself hides any of it: heap, buffers, memory of WebAssembly, native code.
 */
export class MemoryWatch {
  readonly #bytesMax: number
  /** Since when each was past its limit whenever it was looked at; undefined while it is not. */
  readonly #watched = new Map<WatchedProcess, number | undefined>()
  #timer: NodeJS.Timeout | undefined

  /** @param heapBytesMax memory that a tool may use, in bytes */
  constructor (heapBytesMax: number) {
    this.#bytesMax = heapBytesMax + ownBytes
  }

  add (watched: WatchedProcess): void {
    this.#watched.set(watched, undefined)
    this.#timer ??= setInterval(() => { this.#look() }, tick_ms).unref()
  }

  delete (watched: WatchedProcess): void {
    this.#watched.delete(watched)
  }

  close (): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watched.clear()
  }

  #look (): void {
    const now = performance.now()
    for (const [watched, over_ms] of this.#watched) {
      if (watched.pid === undefined || now - watched.since_ms < young_ms) continue
      const over = usedBytes(watched.pid) - this.#bytesMax
      if (over <= 0) this.#watched.set(watched, undefined)
      else if (over > surely.bytes || (over_ms !== undefined && now - over_ms >= surely.ms)) watched.exhausted()
      else this.#watched.set(watched, over_ms ?? now)
    }
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
