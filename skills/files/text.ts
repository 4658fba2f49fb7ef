import type { FileHandle } from 'node:fs/promises'

/** How much of a file is read at a time, in bytes. */
const chunkBytes = 65_536
/** The longest line that is shown; the rest of it is cut, in characters. */
export const lineMax = 2_000
/** A NUL in so many bytes at the beginning makes a file a binary one, as git has it. */
const probeBytes = 8_000

export async function isBinary (handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(probeBytes), 0, probeBytes, 0)
  return buffer.subarray(0, bytesRead).includes(0)
}

/**
 * The lines of a file, without their ends, however large the file: what goes beyond `lineMax` of a line is not kept.
 */
export async function * linesOf (handle: FileHandle, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const buffer = Buffer.allocUnsafe(chunkBytes)
  let line = ''
  let cut = false
  const whole = (): string => {
    const text = cut ? `${line}…` : line.endsWith('\r') ? line.slice(0, -1) : line
    line = ''
    cut = false
    return text
  }
  const add = (piece: string): void => {
    line += piece
    if (line.length <= lineMax) return
    line = line.slice(0, lineMax)
    cut = true
  }
  for (let at = 0; ;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, at)
    at += bytesRead
    const pieces = decoder.decode(buffer.subarray(0, bytesRead), { stream: bytesRead > 0 }).split('\n')
    for (const [i, piece] of pieces.entries()) {
      if (i > 0) yield whole()
      add(piece)
    }
    if (bytesRead === 0) break
  }
  if (line !== '') yield whole()
}

/** Whether a line has a text or an RE2 pattern, which matches in linear time. @throws Error about the pattern */
export async function finder (find: string, pattern: boolean, ignoreCase: boolean): Promise<(line: string) => boolean> {
  if (!pattern && !ignoreCase) return line => line.includes(find)
  const { RE2JS } = await import('re2js')
  try {
    const compiled = RE2JS.compile(pattern ? find : RE2JS.quote(find), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
    return line => compiled.matcher(line).find()
  } catch (error) {
    throw new Error(`the pattern can't be used (RE2 syntax, without lookaround and backreferences): ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
