import type { Config } from './config.ts'

/** The output of a tool: at most `collectedBytesMax` bytes, and a note when it was truncated. */
export interface Output { output: string, output_truncated: boolean }

/**
 * How many bytes of an output an executor hands over: the record keeps `execution.output_bytes_max` of them, and the
 * kernel writes a longer output to a file.
 */
export function collectedBytesMax ({ execution }: Config): number {
  return Math.max(execution.output_bytes_max, execution.output_file_bytes_max)
}

/**
 * Makes the stored output from a text. A text of at most `bytesMax` bytes of UTF-8 is stored whole. A longer text is
 * truncated between two characters, and a note says so.
 * @param bytes length of the complete output, when the text is only its beginning
 * @param rest what the note says of the rest
 */
export function outputOf (
  text: string, bytesMax: number, bytes: number = Buffer.byteLength(text), rest = ''
): Output {
  if (bytes <= bytesMax) return { output: text, output_truncated: false }
  const encoded = Buffer.from(text)
  let end = Math.min(bytesMax, encoded.length)
  // A continuation byte (10xxxxxx) at the cut belongs to a character that began before it.
  while (end > 0 && end < encoded.length && ((encoded[end] ?? 0) & 0xc0) === 0x80) end--
  return {
    output: `${encoded.toString('utf8', 0, end)}\n[output truncated: ${end} of ${bytes} bytes kept${rest}]`,
    output_truncated: true
  }
}

/** Separates the note from a truncated output. */
export function splitTruncationNote (output: string): { kept: string, note: string } {
  const at = output.lastIndexOf('\n[output truncated: ')
  return at === -1 ? { kept: output, note: '' } : { kept: output.slice(0, at), note: output.slice(at) }
}
