import type { OpenFile } from '../files.ts'
import { sleep, type RunState } from '../run-state.ts'
import { WasiError } from '../wasi-error.ts'

/** How much one read or write moves at the most, in bytes. */
const chunkBytesMax = 1_048_576

/** An error of a stream, as programs receive it. */
export class StreamError {
  readonly error: WasiError

  constructor (error: WasiError) {
    this.error = error
  }

  toDebugString (): string {
    return this.error.message
  }
}

/** How a failed operation of a stream is told. */
class StreamFailure extends Error {
  readonly payload: { tag: 'closed' } | { tag: 'last-operation-failed', val: StreamError }

  constructor (payload: StreamFailure['payload']) {
    super(payload.tag)
    this.payload = payload
  }
}

/** Does a part of a stream's work. @throws StreamFailure in place of an error of WASI */
function attempt<Result> (work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof WasiError)) throw error
    throw new StreamFailure({ tag: 'last-operation-failed', val: new StreamError(error) })
  }
}

/** What can be waited for. All but times is ready at once: files and texts never make a program wait. */
export class Pollable {
  readonly #until_ms: number

  /** @param until_ms when it is ready, by `performance.now()` */
  constructor (until_ms = 0) {
    this.#until_ms = until_ms
  }

  get left_ms (): number {
    return Math.max(0, this.#until_ms - performance.now())
  }

  ready (): boolean {
    return this.left_ms === 0
  }

  block (): void {
    sleep(this.left_ms)
  }
}

/** Waits for the first. @returns the indexes of those that are ready */
export function poll (list: readonly Pollable[]): Uint32Array {
  if (list.length === 0) throw new Error('poll was called with an empty list')
  sleep(Math.min(...list.map(({ left_ms }) => left_ms)))
  let ready = list.flatMap((pollable, i) => pollable.ready() ? [i] : [])
  if (ready.length === 0) {
    // A timer may end a moment early.
    const first = Math.min(...list.map(({ left_ms }) => left_ms))
    ready = [list.findIndex(({ left_ms }) => left_ms <= first)].map(i => Math.max(0, i))
  }
  return Uint32Array.from(ready)
}

/** A stream that a program reads. */
export class InputStream {
  readonly #next: (bytesMax: number) => Uint8Array

  /** @param next gives the next bytes; none at the end */
  constructor (next: (bytesMax: number) => Uint8Array) {
    this.#next = next
  }

  read (length: bigint): Uint8Array {
    if (length === 0n) return new Uint8Array()
    const bytes = attempt(() => this.#next(length > BigInt(chunkBytesMax) ? chunkBytesMax : Number(length)))
    if (bytes.length === 0) throw new StreamFailure({ tag: 'closed' })
    return bytes
  }

  blockingRead (length: bigint): Uint8Array {
    return this.read(length)
  }

  skip (length: bigint): bigint {
    return BigInt(this.read(length).length)
  }

  blockingSkip (length: bigint): bigint {
    return this.skip(length)
  }

  subscribe (): Pollable {
    return new Pollable()
  }
}

/** A stream that a program writes. */
export class OutputStream {
  readonly #take: (bytes: Uint8Array) => void

  constructor (take: (bytes: Uint8Array) => void) {
    this.#take = take
  }

  checkWrite (): bigint {
    return BigInt(chunkBytesMax)
  }

  write (bytes: Uint8Array): void {
    attempt(() => { this.#take(bytes) })
  }

  blockingWriteAndFlush (bytes: Uint8Array): void {
    this.write(bytes)
  }

  flush (): void {}

  blockingFlush (): void {}

  writeZeroes (length: bigint): void {
    if (length > BigInt(chunkBytesMax)) throw new Error('more zeroes were written than the stream permits')
    this.write(new Uint8Array(Number(length)))
  }

  blockingWriteZeroesAndFlush (length: bigint): void {
    this.writeZeroes(length)
  }

  splice (from: InputStream, length: bigint): bigint {
    const bytes = from.read(length)
    this.write(bytes)
    return BigInt(bytes.length)
  }

  blockingSplice (from: InputStream, length: bigint): bigint {
    return this.splice(from, length)
  }

  subscribe (): Pollable {
    return new Pollable()
  }
}

export function streamOfInput (state: RunState): InputStream {
  return new InputStream(bytesMax => state.readInput(bytesMax))
}

/** @param position where reading begins, in bytes */
export function readingStream (file: OpenFile, position: number): InputStream {
  let at = position
  return new InputStream(bytesMax => {
    const buffer = new Uint8Array(Math.min(bytesMax, 65_536))
    const bytes = buffer.subarray(0, file.read(buffer, at))
    at += bytes.length
    return bytes
  })
}

/** @param position where writing begins, in bytes; undefined: always at the end of the file */
export function writingStream (file: OpenFile, position: number | undefined): OutputStream {
  let at = position
  return new OutputStream(bytes => {
    for (let done = 0; done < bytes.length;) {
      const written = file.write(bytes.subarray(done), at ?? Number(file.stat().size))
      done += written
      if (at !== undefined) at += written
    }
  })
}
