import { isUtf8 } from 'node:buffer'

/** The longest line that is read, in bytes: a record with the largest output that a configuration allows fits. */
const lineBytesMax = 256 * 1_048_576

/**
 * The lines of a file, without their ends.
 * @throws Error for a line that is too long or not UTF-8
 */
export async function * linesIn (chunks: AsyncIterable<unknown>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk as Uint8Array) // what a stream of a file without an encoding gives
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield textOf([...parts, rest.subarray(0, end)])
      parts = []
      bytes = 0
      rest = rest.subarray(end + 1)
    }
    parts.push(rest)
    bytes += rest.length
    if (bytes > lineBytesMax) throw new Error(`the line is longer than ${lineBytesMax} bytes`)
  }
  if (bytes > 0) yield textOf(parts)
}

function textOf (parts: readonly Buffer[]): string {
  const line = Buffer.concat(parts)
  if (!isUtf8(line)) throw new Error('the line is not UTF-8')
  return line.toString()
}
