import { Files, type Preopen } from './files.ts'

/** What a program is given. */
export interface RunInput {
  /** Its arguments, without the name of the program. */
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Text on its standard input. */
  stdin: string
  preopens: readonly Preopen[]
  /** How much of its standard output is kept, in bytes. */
  output_bytes_max: number
}

/** It is stopped when it has put out so much, in bytes, like a native command. */
const outputBytesStop = 16 * 1_048_576
/** How much of standard error is kept, in bytes: its end. */
const stderrBytesMax = 16_384

/** The program put out too much. */
export class Flooded extends Error {
  constructor () {
    super(`put out more than ${outputBytesStop / 1_048_576} MiB and was stopped`)
  }
}

/** One run of a program: what it reads, what it writes, and what it has open. */
export class RunState {
  readonly input: RunInput
  readonly name: string
  readonly files: Files
  readonly #stdin: Uint8Array
  #read = 0
  readonly #stdout: Uint8Array[] = []
  /** How much it has put out, in bytes, kept or not. */
  stdout_bytes = 0
  #kept = 0
  #stderr = Buffer.alloc(0)
  #stderr_bytes = 0

  constructor (name: string, input: RunInput) {
    this.name = name
    this.input = input
    this.files = new Files(input.preopens)
    this.#stdin = Buffer.from(input.stdin)
  }

  /** The next bytes of standard input; none at its end. */
  readInput (bytesMax: number): Uint8Array {
    const bytes = this.#stdin.subarray(this.#read, this.#read + bytesMax)
    this.#read += bytes.length
    return bytes
  }

  /** @throws Flooded */
  writeOutput (bytes: Uint8Array): void {
    this.stdout_bytes += bytes.length
    if (this.stdout_bytes > outputBytesStop) throw new Flooded()
    const room = this.input.output_bytes_max - this.#kept
    if (room <= 0 || bytes.length === 0) return
    const kept = Buffer.from(bytes.subarray(0, room))
    this.#stdout.push(kept)
    this.#kept += kept.length
    if (this.#stdout.length > 1_024) this.#stdout.splice(0, Infinity, Buffer.concat(this.#stdout))
  }

  /** @throws Flooded */
  writeError (bytes: Uint8Array): void {
    this.#stderr_bytes += bytes.length
    if (this.#stderr_bytes > outputBytesStop) throw new Flooded()
    this.#stderr = Buffer.concat([this.#stderr, bytes.subarray(-stderrBytesMax)]).subarray(-stderrBytesMax)
  }

  /** The kept part of standard output. */
  get output (): Buffer {
    return Buffer.concat(this.#stdout)
  }

  /** The end of standard error. */
  get errors (): string {
    return this.#stderr.toString('utf8')
  }
}

/** Sleeps, in a way that ends with the thread. */
export function sleep (ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
