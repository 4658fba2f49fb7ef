/** Where a command reads and writes. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  /** Writes to standard output. */
  out (text: string): void
  /** Writes to standard error. */
  err (text: string): void
  /** Reads all of standard input, as text. @throws Error when it is longer than `bytesMax` */
  input (bytesMax: number): Promise<string>
  /**
   * Reads one line without showing it, where standard input is a terminal; else all of standard input.
   * @throws Error when it is longer than `bytesMax`, or on Ctrl-C
   */
  hidden (prompt: string, bytesMax: number, signal: AbortSignal): Promise<string>
}

/** The terminal of this process. */
export function processTerminal (): Terminal {
  const input = async (bytesMax: number): Promise<string> => {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of process.stdin) {
      const buffer = Buffer.from(chunk)
      bytes += buffer.length
      if (bytes > bytesMax) throw new Error(`standard input is longer than ${bytesMax} bytes`)
      chunks.push(buffer)
    }
    return Buffer.concat(chunks).toString('utf8')
  }
  // A reader that went away, as in `skillet list | head`, is no error.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', (error: NodeJS.ErrnoException) => { if (error.code !== 'EPIPE') throw error })
  return {
    env: process.env,
    cwd: process.cwd(),
    out: text => { process.stdout.write(text) },
    err: text => { process.stderr.write(text) },
    input,
    hidden: (prompt, bytesMax, signal) => process.stdin.isTTY ? readHidden(prompt, bytesMax, signal) : input(bytesMax)
  }
}

/** Reads keys as they come, so that the terminal echoes none. */
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
