/** The used part of WebAssembly's interface; TypeScript declares it only in its library for browsers. */
declare const WebAssembly: {
  Memory: new (of: { initial: number }) => Memory
  Module: new (code: Uint8Array) => object
  Instance: new (
    module: object,
    imports: { js: { memory: Memory } }
  ) => { exports: { dot: (a: number, b: number, end: number) => number } }
}
interface Memory { readonly buffer: ArrayBuffer, grow (pages: number): number }

const page_bytes = 65_536
/** Rows begin at multiples of this number of elements, which `dot` reads at once. */
const together = 8

/**
 * The code of `dot (a, b, end)`: the dot product of the numbers at the addresses `a` and `b`, eight at once, until `a`
 * reaches `end`. WebAssembly has the only vector instructions for JavaScript: they take an eighth of a loop's time.
 */
const code = Uint8Array.of(
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, // \0asm, version 1
  0x01, 0x08, 0x01, 0x60, 0x03, 0x7f, 0x7f, 0x7f, 0x01, 0x7d, // type 0: (i32, i32, i32) → f32
  0x02, 0x0e, 0x01, 0x02, 0x6a, 0x73, 0x06, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 0x02, 0x00, 0x00, // import js.memory
  0x03, 0x02, 0x01, 0x00, // function 0 is of type 0
  0x07, 0x07, 0x01, 0x03, 0x64, 0x6f, 0x74, 0x00, 0x00, // export it as dot
  0x0a, 0x66, 0x01, 0x64, 0x01, 0x02, 0x7b, // code of one function, with two vectors of four numbers: 3 and 4
  0x03, 0x40, // loop
  // 3 += a[0..3] * b[0..3]
  /**/ 0x20, 0x03, 0x20, 0x00, 0xfd, 0x00, 0x02, 0x00, 0x20, 0x01, 0xfd, 0x00, 0x02, 0x00,
  /**/ 0xfd, 0xe6, 0x01, 0xfd, 0xe4, 0x01, 0x21, 0x03,
  // 4 += a[4..7] * b[4..7]
  /**/ 0x20, 0x04, 0x20, 0x00, 0xfd, 0x00, 0x02, 0x10, 0x20, 0x01, 0xfd, 0x00, 0x02, 0x10,
  /**/ 0xfd, 0xe6, 0x01, 0xfd, 0xe4, 0x01, 0x21, 0x04,
  /**/ 0x20, 0x01, 0x41, 0x20, 0x6a, 0x21, 0x01, // b += 32
  /**/ 0x20, 0x00, 0x41, 0x20, 0x6a, 0x22, 0x00, // a += 32
  /**/ 0x20, 0x02, 0x49, 0x0d, 0x00, // again while a < end
  0x0b,
  0x20, 0x03, 0x20, 0x04, 0xfd, 0xe4, 0x01, 0x22, 0x03, // 3 += 4
  0xfd, 0x1f, 0x00, 0x20, 0x03, 0xfd, 0x1f, 0x01, 0x92, // its four numbers added
  0x20, 0x03, 0xfd, 0x1f, 0x02, 0x92, 0x20, 0x03, 0xfd, 0x1f, 0x03, 0x92,
  0x0b
)

/** A growing list of rows of numbers, all of the same length, with their dot products. */
export class Matrix {
  readonly #columns: number
  /** The bytes from one row to the next; after a row's numbers they are 0. */
  readonly #row_bytes: number
  readonly #memory: Memory
  readonly #dot: (a: number, b: number, end: number) => number
  #numbers: Float32Array

  constructor (columns: number) {
    this.#columns = columns
    this.#row_bytes = Math.ceil(columns / together) * together * 4
    this.#memory = new WebAssembly.Memory({ initial: 1 })
    this.#numbers = new Float32Array(this.#memory.buffer)
    this.#dot = new WebAssembly.Instance(new WebAssembly.Module(code), { js: { memory: this.#memory } }).exports.dot
  }

  /** A row, until the next `set`. */
  at (row: number): Float32Array {
    const from = row * this.#row_bytes / 4
    return this.#numbers.subarray(from, from + this.#columns)
  }

  /** @throws RangeError when there is no memory for the row */
  set (row: number, numbers: Float32Array): void {
    const missing_bytes = (row + 1) * this.#row_bytes - this.#numbers.byteLength
    if (missing_bytes > 0) {
      this.#memory.grow(Math.ceil(Math.max(missing_bytes, this.#numbers.byteLength / 2) / page_bytes))
      this.#numbers = new Float32Array(this.#memory.buffer)
    }
    this.#numbers.set(numbers, row * this.#row_bytes / 4)
  }

  /** The dot product of two rows. */
  dot (a: number, b: number): number {
    const from = a * this.#row_bytes
    return this.#dot(from, b * this.#row_bytes, from + this.#row_bytes)
  }
}
