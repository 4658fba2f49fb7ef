import { unixTime, type Execution, type ExecutionStatus } from '../../kernel/index.ts'
import type { Environment } from './environment.ts'

/** Executions in a chunk: with 15 bytes each, a chunk fits into one overflow page of 4,096 bytes. */
export const chunkLength = 256
/** The offset of the statuses in a chunk, in bytes. */
export const statusOffset = 10 * chunkLength
const durationOffset = 11 * chunkLength
/** The bytes of a chunk: times, names, statuses, durations. */
const chunkBytes = 15 * chunkLength
/** The bytes of a chunk that format 3 wrote: it has no durations. */
const bytesWithoutDurations = durationOffset

/** Stands for a duration that a chunk does not have: it is in the row. */
export const durationUnknown = 2 ** 32 - 1

/** Whether a stored chunk has the length of one. */
export function isChunk ({ length }: Uint8Array): boolean {
  return length === chunkBytes || length === bytesWithoutDurations
}

/** The numbers of statuses on disk: never give a number another meaning. */
export const statusNumbers = {
  queued: 1, running: 2, success: 3, failed: 4, timeout: 5, cancelled: 6, interrupted: 7, waiting: 8
} as const satisfies Record<ExecutionStatus, number>

/**
 * The values that filters compare, for 256 executions with consecutive sequence numbers. So a filter over a million
 * executions reads 16 MB instead of a million records.
 */
export interface Chunk {
  readonly bytes: Uint8Array
  /** Times in Unix milliseconds. */
  readonly created_ms: Float64Array
  readonly names: Uint16Array
  readonly statuses: Uint8Array
  /** In milliseconds, or `durationUnknown`. */
  readonly durations_ms: Uint32Array
}

export function chunkOf (sequence: number): number {
  return Math.floor(sequence / chunkLength)
}

export function readChunk (env: Environment, chunk: number): Chunk | undefined {
  const bytes = env.columns.get(chunk)
  return bytes === undefined ? undefined : viewsOf(bytes)
}

function viewsOf (stored: Uint8Array): Chunk {
  if (!isChunk(stored)) throw new Error(`the history's columns are damaged: ${stored.length} bytes in a chunk`)
  let bytes = stored
  if (stored.length === bytesWithoutDurations) {
    bytes = new Uint8Array(chunkBytes).fill(0xff, durationOffset) // `durationUnknown`, in each place
    bytes.set(stored)
  } else if (stored.byteOffset % 8 !== 0) bytes = Uint8Array.from(stored)
  const { buffer, byteOffset } = bytes
  return {
    bytes,
    created_ms: new Float64Array(buffer, byteOffset, chunkLength),
    names: new Uint16Array(buffer, byteOffset + 8 * chunkLength, chunkLength),
    statuses: new Uint8Array(buffer, byteOffset + statusOffset, chunkLength),
    durations_ms: new Uint32Array(buffer, byteOffset + durationOffset, chunkLength)
  }
}

/** Collects the changes of a transaction, so that each chunk is read and written once. */
export class ChunkEditor {
  readonly #env: Environment
  readonly #chunks = new Map<number, Chunk>()

  constructor (env: Environment) {
    this.#env = env
  }

  set (sequence: number, execution: Execution, name: number): void {
    const number = chunkOf(sequence)
    let chunk = this.#chunks.get(number)
    if (chunk === undefined) {
      chunk = readChunk(this.#env, number) ?? viewsOf(new Uint8Array(chunkBytes))
      this.#chunks.set(number, chunk)
    }
    const index = sequence % chunkLength
    chunk.created_ms[index] = unixTime(execution.created_at)
    chunk.names[index] = name
    chunk.statuses[index] = statusNumbers[execution.status]
    chunk.durations_ms[index] = Math.min(execution.duration_ms, durationUnknown)
  }

  write (): void {
    for (const [number, { bytes }] of this.#chunks) this.#env.columns.putSync(number, bytes)
  }
}
