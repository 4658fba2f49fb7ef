import type { Writable } from 'node:stream'
import type { LogLevel } from '../../../kernel/index.ts'
import { speech } from '../shared/protocol.ts'

/** A line longer than this is cut, in characters. */
const lineMax = speech.line_characters

/** Takes a line that a tool wrote. */
export type Line = (level: LogLevel, text: string) => void

/**
 * Turns what a tool writes to the thread's stdout and stderr, and so by console, into log lines: it never reaches the
 * process's own output.
 * @returns what hands over a last line without its end
 */
export function captureOutput (line: Line): () => void {
  const stdout = new Lines('info', line)
  const stderr = new Lines('warn', line)
  redirect(process.stdout, stdout)
  redirect(process.stderr, stderr)
  // Node's own listener writes warnings to the process's stderr.
  process.removeAllListeners('warning')
  process.on('warning', warning => { line('warn', `${warning.name}: ${warning.message}`) })
  return () => {
    stdout.flush()
    stderr.flush()
  }
}

/**
 * Gives a stream another end. The stream itself has to stay: Node calls a function of its own on it when the main
 * thread asks for more data, and a stand-in without it made threads fail at their start, now and then.
 */
function redirect (stream: Writable, lines: Lines): void {
  const same = (): Writable => stream
  Object.assign(stream, {
    _write (chunk: string | Uint8Array, _encoding: BufferEncoding, done: () => void): void {
      lines.write(chunk)
      done()
    },
    _writev: null,
    // Closing it would break the console of the next run.
    end: same,
    destroy: same
  })
}

/** Splits what is written into lines, at once: a tool may hang in the next instruction. */
class Lines {
  readonly #level: LogLevel
  readonly #line: Line
  #rest = ''

  constructor (level: LogLevel, line: Line) {
    this.#level = level
    this.#line = line
  }

  write (chunk: string | Uint8Array): void {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#line(this.#level, this.#rest + text.slice(from, end))
      this.#rest = ''
      from = end + 1
    }
    // One past the limit, so that the cut is seen.
    this.#rest = (this.#rest + text.slice(from, from + lineMax + 1)).slice(0, lineMax + 1)
  }

  flush (): void {
    if (this.#rest === '') return
    const rest = this.#rest
    this.#rest = ''
    this.#line(this.#level, rest)
  }
}
