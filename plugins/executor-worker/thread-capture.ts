import { Writable } from 'node:stream'
import type { LogLevel } from '../../kernel/index.ts'

/** A line longer than this is cut, in characters. */
export const lineMax = 8192

/** Takes a line that a tool wrote. */
export type Line = (level: LogLevel, text: string) => void

/**
 * Puts streams of its own in the place of the thread's stdout and stderr, and so of console: what a tool writes
 * becomes log lines and never reaches the process's own output.
 * @returns what hands over a last line without its end
 */
export function captureOutput (line: Line): () => void {
  const stdout = new Lines('info', line)
  const stderr = new Lines('warn', line)
  Object.defineProperty(process, 'stdout', { configurable: true, enumerable: true, value: stdout })
  Object.defineProperty(process, 'stderr', { configurable: true, enumerable: true, value: stderr })
  // Node's own listener writes warnings to the process's stderr.
  process.removeAllListeners('warning')
  process.on('warning', warning => { line('warn', `${warning.name}: ${warning.message}`) })
  return () => {
    stdout.flush()
    stderr.flush()
  }
}

/** Splits what is written into lines, at once: a tool may hang in the next instruction. */
class Lines extends Writable {
  readonly #level: LogLevel
  readonly #line: Line
  #rest = ''

  constructor (level: LogLevel, line: Line) {
    super({ decodeStrings: false })
    this.#level = level
    this.#line = line
  }

  override _write (chunk: string | Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#line(this.#level, this.#rest + text.slice(from, end))
      this.#rest = ''
      from = end + 1
    }
    // One past the limit, so that the cut is seen.
    this.#rest = (this.#rest + text.slice(from, from + lineMax + 1)).slice(0, lineMax + 1)
    done()
  }

  /** Closing it would break the next run's console. */
  override end (): this {
    return this
  }

  override _destroy (_error: Error | null, done: (error?: Error | null) => void): void {
    done()
  }

  flush (): void {
    if (this.#rest === '') return
    const rest = this.#rest
    this.#rest = ''
    this.#line(this.#level, rest)
  }
}
