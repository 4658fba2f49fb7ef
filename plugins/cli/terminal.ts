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
}

/** The terminal of this process. */
export function processTerminal (): Terminal {
  // A reader that went away, as in `skillet list | head`, is no error.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', (error: NodeJS.ErrnoException) => { if (error.code !== 'EPIPE') throw error })
  return {
    env: process.env,
    cwd: process.cwd(),
    out: text => { process.stdout.write(text) },
    err: text => { process.stderr.write(text) },
    async input (bytesMax) {
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
  }
}
