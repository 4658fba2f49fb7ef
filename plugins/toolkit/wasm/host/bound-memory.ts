/** A page of memory, in bytes. */
const pageBytes = 65_536
const sections = { memory: 5 } as const
const withMaximum = 1
const knownFlags = 7

/** Reads the numbers of a WebAssembly module. */
class Reader {
  readonly #bytes: Uint8Array
  at: number

  constructor (bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  get done (): boolean {
    return this.at >= this.#bytes.length
  }

  byte (): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw new Error('the module ends within a section')
    return byte
  }

  /** An unsigned number in LEB128. */
  number (): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
    throw new Error('the module has a number that is too long')
  }

  size (): number {
    return Number(this.number())
  }
}

/** The limits of a memory, in pages. */
interface MemoryLimits { flags: number, min: bigint, max: bigint | undefined }

/** The memories that a module defines, and where the section with them lies. */
export interface DefinedMemories { start: number, end: number, memories: MemoryLimits[] }

/**
 * Finds the memories that a core module defines; undefined where it defines none.
 * @throws Error when the module is damaged
 */
export function memoriesOf (module: Uint8Array): DefinedMemories | undefined {
  const reader = new Reader(module, 8)
  while (!reader.done) {
    const start = reader.at
    const id = reader.byte()
    const length = reader.size()
    const end = reader.at + length
    if (end > module.length) throw new Error('the module ends within a section')
    if (id !== sections.memory) {
      reader.at = end
      continue
    }
    const count = reader.size()
    if (count > 100) throw new Error(`the module has ${count} memories`)
    return { start, end, memories: Array.from({ length: count }, () => limitsAt(reader)) }
  }
  return undefined
}

function limitsAt (reader: Reader): MemoryLimits {
  const flags = reader.byte()
  if (flags > knownFlags) throw new Error(`the module has a memory of an unknown kind (${flags})`)
  const min = reader.number()
  return { flags, min, max: (flags & withMaximum) === 0 ? undefined : reader.number() }
}

/**
 * Gives each memory of some core modules a maximum, so that all together never take more than a limit. V8 enforces the
 * maximum of a memory; its own limit of pages holds for the whole process only.
 * @param bytesMax the limit of all memories together
 * @returns the modules with these maxima
 * @throws Error when what the memories begin with is more than the limit
 */
export function boundMemories (modules: readonly Uint8Array[], bytesMax: number): Uint8Array[] {
  const found = modules.map(memoriesOf)
  const all = found.flatMap(found => found?.memories ?? [])
  const pagesMax = BigInt(Math.floor(bytesMax / pageBytes))
  const least = all.reduce((sum, { min }) => sum + min, 0n)
  if (least > pagesMax) {
    throw new Error(`its memory begins with ${mebibytesOf(least)} MiB; it may have ${mebibytesOf(pagesMax)} MiB, three quarters of execution.heap_bytes_max`)
  }
  const spare = all.length === 0 ? 0n : (pagesMax - least) / BigInt(all.length)
  return modules.map((module, i) => {
    const memories = found[i]
    return memories === undefined ? module : withLimits(module, memories, spare)
  })
}

function mebibytesOf (pages: bigint): bigint {
  return pages * BigInt(pageBytes) / 1_048_576n
}

/** @param spare how many pages each memory may grow by */
function withLimits (module: Uint8Array, { start, end, memories }: DefinedMemories, spare: bigint): Uint8Array {
  const body = [...numberBytes(BigInt(memories.length)), ...memories.flatMap(({ flags, min, max }) => {
    const bound = min + spare
    return [flags | withMaximum, ...numberBytes(min), ...numberBytes(max === undefined || max > bound ? bound : max)]
  })]
  const section = [sections.memory, ...numberBytes(BigInt(body.length)), ...body]
  return Buffer.concat([module.subarray(0, start), Uint8Array.from(section), module.subarray(end)])
}

/** An unsigned number in LEB128. */
function numberBytes (value: bigint): number[] {
  const bytes: number[] = []
  for (let left = value; ; left >>= 7n) {
    if (left < 128n) return [...bytes, Number(left)]
    bytes.push(Number(left & 127n) | 128)
  }
}
