import { isDuration, readToolResult } from './incoming.ts'
import type { ToolResult } from './protocol.ts'

/** Calls a thread is given at once, at most. */
export const slotsMax = 64
/** Bytes of results that stand on a board; what is longer is sent as a message. */
const textBytes = 131_072

/**
 * How far a call has come. Whether a tool has begun is decided by an atomic exchange and not by messages: a call that
 * was recalled never begins, one that began is never given to another thread. `told`: its result comes as a message.
 */
export const claims = { dispatched: 1, loading: 2, begun: 3, recalled: 4, ended: 5, told: 6 } as const

/** `ascii`: an output with as many characters as bytes, as most have. */
const kinds = { output: 1, failed: 2, ascii: 3 } as const
const layout = {
  claims: 0, kinds: 4 * slotsMax, offsets: 8 * slotsMax, lengths: 12 * slotsMax, began: 16 * slotsMax,
  ran: 24 * slotsMax, left: 32 * slotsMax, used: 32 * slotsMax + 4, text: 32 * slotsMax + 8
} as const

/** Taken before a tool could replace them: the thread uses this file, too. */
const { parse, stringify } = JSON
const { compareExchange, load, store } = Atomics

// `performance.now` begins at another moment in each thread; the clock under it is one for all.
const now = performance.now.bind(performance)
const [seconds, nanoseconds] = process.hrtime()
const base_ms = seconds * 1_000 + nanoseconds / 1_000_000 - now()

/** Milliseconds of a clock that never goes back and that all threads share. */
export function clock_ms (): number {
  return base_ms + now()
}

/**
 * Memory that the main thread and a script thread share: how far each of the calls is that the thread was given, and
 * the results of those that ended. They outlive the thread: what had ended when it died has ended. Tools are not given
 * it, but code in the thread might come by it, so the main thread believes nothing that it reads.
 */
export class Board {
  readonly memory: SharedArrayBuffer
  readonly #claims: Int32Array
  readonly #kinds: Int32Array
  readonly #offsets: Int32Array
  readonly #lengths: Int32Array
  readonly #began: Float64Array
  readonly #ran: Float64Array
  readonly #left: Int32Array
  /** Bytes of the text that are written. */
  readonly #used: Int32Array
  readonly #text: Buffer
  /** The main thread: ASCII outputs as far as they were there when it last looked, from that byte on. */
  #ascii = ''
  #asciiFrom = 0

  constructor (memory = new SharedArrayBuffer(layout.text + textBytes)) {
    this.memory = memory
    this.#claims = new Int32Array(memory, layout.claims, slotsMax)
    this.#kinds = new Int32Array(memory, layout.kinds, slotsMax)
    this.#offsets = new Int32Array(memory, layout.offsets, slotsMax)
    this.#lengths = new Int32Array(memory, layout.lengths, slotsMax)
    this.#began = new Float64Array(memory, layout.began, slotsMax)
    this.#ran = new Float64Array(memory, layout.ran, slotsMax)
    this.#left = new Int32Array(memory, layout.left, 1)
    this.#used = new Int32Array(memory, layout.used, 1)
    this.#text = Buffer.from(memory, layout.text, textBytes)
  }

  /** The main thread: so many calls are given, in the slots from 0 on. */
  deal (count: number): void {
    this.#ascii = ''
    for (let slot = 0; slot < count; slot++) store(this.#claims, slot, claims.dispatched)
  }

  /** The script thread: it ends, by itself. */
  leave (): void {
    store(this.#left, 0, 1)
  }

  /** Whether the thread has begun to end by itself. */
  get left (): boolean {
    return load(this.#left, 0) === 1
  }

  /**
   * How far a call is. What is none of `claims` was written by nobody of ours: then it has begun, since it must not run
   * again.
   */
  claim (slot: number): number {
    const claim = load(this.#claims, slot)
    return claim >= claims.dispatched && claim <= claims.told ? claim : claims.begun
  }

  /** Moves a claim on; false when the other side was first. */
  move (slot: number, from: number, to: number): boolean {
    return compareExchange(this.#claims, slot, from, to) === from
  }

  /** The script thread: results are written from the beginning again. */
  clear (): void {
    this.#used[0] = 0
  }

  /** The script thread: begins a call, unless it was recalled. */
  begin (slot: number, from: number): boolean {
    this.#began[slot] = clock_ms()
    return this.move(slot, from, claims.begun)
  }

  /** How long ago a call began, in milliseconds: from 0 to `most_ms`. */
  ago_ms (slot: number, most_ms: number): number {
    const ago_ms = clock_ms() - (this.#began[slot] ?? 0)
    return isDuration(ago_ms) ? Math.min(ago_ms, most_ms) : ago_ms < 0 ? 0 : most_ms
  }

  /** The script thread: the call ended. @returns false when there is no room: then its result has to be sent */
  put (slot: number, result: ToolResult, ran_ms: number): boolean {
    const text = result.kind === 'output' ? result.text : stringify(result)
    const bytes = result.kind === 'output' ? result.bytes : Buffer.byteLength(text)
    const used = this.#used[0] ?? 0
    if (used + bytes > textBytes) return false
    this.#text.write(text, used, 'utf8')
    this.#kinds[slot] = result.kind === 'failed' ? kinds.failed : bytes === text.length ? kinds.ascii : kinds.output
    this.#offsets[slot] = used
    this.#lengths[slot] = bytes
    this.#used[0] = used + bytes
    this.#ran[slot] = ran_ms
    store(this.#claims, slot, claims.ended)
    return true
  }

  /** The script thread: the result of the call is on its way as a message. */
  tell (slot: number): void {
    store(this.#claims, slot, claims.told)
  }

  /** The main thread: the result of a call whose claim is `ended`; undefined where what is there is none. */
  read (slot: number): { result: ToolResult, ran_ms: number } | undefined {
    const from = this.#offsets[slot] ?? 0
    const bytes = this.#lengths[slot] ?? 0
    const ran_ms = this.#ran[slot]
    if (from < 0 || bytes < 0 || from + bytes > textBytes || !isDuration(ran_ms)) return undefined
    switch (this.#kinds[slot]) {
      case kinds.ascii: return { result: { kind: 'output', text: this.#readAscii(from, from + bytes), bytes }, ran_ms }
      case kinds.output: return { result: { kind: 'output', text: this.#decode(from, bytes), bytes }, ran_ms }
      case kinds.failed: {
        const result = readToolResult(parsed(this.#decode(from, bytes)), textBytes)
        return result && { result, ran_ms }
      }
      default: return undefined
    }
  }

  /** From a copy: the decoder must not meet bytes that the thread changes meanwhile. */
  #decode (from: number, bytes: number): string {
    return Buffer.from(this.#text.subarray(from, from + bytes)).toString()
  }

  /**
   * Decodes all that is there in one call: a call for each output costs more than all else that is done with it here.
   */
  #readAscii (from: number, to: number): string {
    if (from < this.#asciiFrom || to > this.#asciiFrom + this.#ascii.length) {
      this.#asciiFrom = from
      this.#ascii = this.#text.toString('latin1', from, Math.max(to, this.#used[0] ?? 0))
    }
    return this.#ascii.slice(from - this.#asciiFrom, to - this.#asciiFrom)
  }
}

/** What of a board is used where tools run. A process has one of its own, whose every step it tells the server. */
export type Claims = Pick<Board, 'clear' | 'move' | 'begin' | 'put' | 'tell'>

function parsed (text: string): unknown {
  try {
    return parse(text) as unknown
  } catch {
    return undefined
  }
}
