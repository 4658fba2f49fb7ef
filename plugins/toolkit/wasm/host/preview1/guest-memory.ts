import { WasiError } from '../wasi-error.ts'
import type { WasmMemory } from '../web-assembly.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The memory of a program. It may grow between any two calls, so no view of it is kept. */
export class GuestMemory {
  #memory: WasmMemory | undefined

  attach (memory: WasmMemory): void {
    this.#memory = memory
  }

  get #buffer (): ArrayBuffer {
    if (this.#memory === undefined) throw new WasiError('invalid')
    return this.#memory.buffer
  }

  /** @throws WasiError where it is not in the memory */
  bytes (pointer: number, length: number): Uint8Array {
    const [start, size] = [pointer >>> 0, length >>> 0]
    const buffer = this.#buffer
    if (start + size > buffer.byteLength) throw new WasiError('invalid')
    return new Uint8Array(buffer, start, size)
  }

  view (pointer: number, length: number): DataView {
    const { buffer, byteOffset } = this.bytes(pointer, length)
    return new DataView(buffer, byteOffset, length >>> 0)
  }

  text (pointer: number, length: number): string {
    try {
      return utf8.decode(Uint8Array.from(this.bytes(pointer, length))) // a copy: it may be shared memory
    } catch (error) {
      if (error instanceof WasiError) throw error
      throw new WasiError('illegal-byte-sequence')
    }
  }

  setByte (pointer: number, value: number): void {
    this.view(pointer, 1).setUint8(0, value)
  }

  setSize (pointer: number, value: number): void {
    this.view(pointer, 4).setUint32(0, value, true)
  }

  setLong (pointer: number, value: bigint): void {
    this.view(pointer, 8).setBigUint64(0, value, true)
  }

  /** The buffers of a list of pointers and lengths. */
  vectors (pointer: number, count: number): Uint8Array[] {
    if (count >>> 0 > 1_024) throw new WasiError('invalid')
    const list = this.view(pointer, count * 8)
    return Array.from({ length: count }, (_, i) =>
      this.bytes(list.getUint32(i * 8, true), list.getUint32(i * 8 + 4, true)))
  }
}
