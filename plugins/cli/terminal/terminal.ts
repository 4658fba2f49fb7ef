import { isUtf8 } from 'node:buffer'
import { createInterface } from 'node:readline/promises'
import { createColors } from 'picocolors'
import { steadyButStyled } from './layout.ts'

export type Colors = ReturnType<typeof createColors>

/** The input and output of a command. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  /**
   * The colours for standard output and for standard error. They have no effect where the stream is not a terminal, or
   * must not be coloured.
   */
  colors: { readonly out: Colors, readonly err: Colors }
  /**
   * The width of the terminal of standard output in columns; undefined when it is not a terminal, or its width is
   * unknown.
   */
  columns: number | undefined
  /** Whether standard output is a terminal: then text from tools and skills must go through `steady`. */
  shown: boolean
  /** Whether standard error is a terminal. */
  watched: boolean
  /** Aborts when the reader of standard output has closed it, as in `skillet list | head`. */
  unread: AbortSignal
  /**
   * Writes to standard output. For a terminal, all control sequences but the program's own colours are removed; any
   * other output gets the text unchanged.
   */
  out (text: string): void
  /** Writes to standard error, with the same rules. */
  err (text: string): void
  /**
   * Reads all of standard input, as text.
   * @throws Error when it is longer than `bytesMax`, is not UTF-8, or the signal aborts
   */
  input (bytesMax: number, signal: AbortSignal): Promise<string>
  /**
   * Reads one line without showing it, if standard input is a terminal; otherwise all of standard input.
   * @throws Error when it is longer than `bytesMax`, or on Ctrl-C
   */
  hidden (prompt: string, bytesMax: number, signal: AbortSignal): Promise<string>
  /** Asks a question and reads a line; undefined when standard input is not a terminal. */
  ask (question: string, signal: AbortSignal): Promise<string | undefined>
}

/**
 * Whether a stream is coloured: a terminal is, unless NO_COLOR is set or the terminal is dumb; with FORCE_COLOR any
 * stream is.
 */
export function isColored (stream: { isTTY?: boolean }, env: Terminal['env']): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '', TERM } = env
  if (NO_COLOR !== '') return false
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return stream.isTTY === true && TERM !== 'dumb'
}

/** The terminal of this process. */
export function processTerminal (): Terminal {
  const unread = new AbortController()
  // It is not an error when the reader closes a stream.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      if (stream === process.stdout) unread.abort()
    })
  }
  return {
    env: process.env,
    cwd: process.cwd(),
    colors: {
      out: createColors(isColored(process.stdout, process.env)),
      err: createColors(isColored(process.stderr, process.env))
    },
    // A terminal that does not report its width has 0.
    columns: process.stdout.isTTY ? process.stdout.columns || undefined : undefined,
    shown: process.stdout.isTTY,
    watched: process.stderr.isTTY,
    unread: unread.signal,
    out: text => { process.stdout.write(process.stdout.isTTY ? steadyButStyled(text) : text) },
    err: text => { process.stderr.write(process.stderr.isTTY ? steadyButStyled(text) : text) },
    input: readInput,
    hidden: (prompt, bytesMax, signal) =>
      process.stdin.isTTY ? readHidden(prompt, bytesMax, signal) : readInput(bytesMax, signal),
    ask: async (question, signal) => process.stdin.isTTY ? await askLine(question, signal) : undefined
  }
}

async function askLine (question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('close', () => { resolve('') }) // the end of the input
      lines.once('SIGINT', () => { reject(new Error('interrupted')) })
      lines.question(question, { signal }).then(resolve, reject)
    })
  } finally {
    lines.close()
  }
}

async function readInput (bytesMax: number, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  const interrupted = (): void => { process.stdin.destroy() }
  signal.addEventListener('abort', interrupted, { once: true })
  try {
    for await (const chunk of process.stdin) {
      const buffer = Buffer.from(chunk)
      bytes += buffer.length
      if (bytes > bytesMax) throw new Error(`standard input is longer than ${bytesMax} bytes`)
      chunks.push(buffer)
    }
  } finally {
    signal.removeEventListener('abort', interrupted)
  }
  const whole = Buffer.concat(chunks)
  if (!isUtf8(whole)) throw new Error('standard input is not UTF-8')
  return whole.toString('utf8')
}

/** Reads single keys, so that the terminal does not show them. */
async function readHidden (prompt: string, bytesMax: number, signal: AbortSignal): Promise<string> {
  const { stdin, stderr } = process
  stdin.setRawMode(true)
  try {
    stderr.write(prompt)
    let line: string[] = []
    stdin.setEncoding('utf8')
    const interrupted = (): void => { stdin.destroy() }
    signal.addEventListener('abort', interrupted, { once: true })
    try {
      for await (const chunk of stdin) {
        for (const key of String(chunk)) {
          if (key === '\r' || key === '\n' || key === '\u0004') return line.join('')
          if (key === '\u0003') throw new Error('interrupted')
          if (key === '\u007f' || key === '\b') line.pop()
          else if (key === '\u0015') line = []
          else line.push(key)
        }
        if (line.length > bytesMax) throw new Error(`the value is longer than ${bytesMax} bytes`)
      }
      throw new Error('interrupted')
    } finally {
      signal.removeEventListener('abort', interrupted)
    }
  } finally {
    if (!stdin.destroyed) stdin.setRawMode(false)
    stderr.write('\n')
  }
}
