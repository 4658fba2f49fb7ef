/** What is kept of a tool's output, at most `execution.output_bytes_max` bytes and a note where it was cut. */
export interface Output { output: string, output_truncated: boolean }

/**
 * The output that is kept of a text: whole up to `bytesMax` bytes of UTF-8, else cut at a character's border with
 * a note that says so.
 * @param bytes how long the output was in all, where the text is already only its beginning
 */
export function outputOf (text: string, bytesMax: number, bytes: number = Buffer.byteLength(text)): Output {
  if (bytes <= bytesMax) return { output: text, output_truncated: false }
  const encoded = Buffer.from(text)
  let end = Math.min(bytesMax, encoded.length)
  // A continuation byte (10xxxxxx) at the cut belongs to a character that began before it.
  while (end > 0 && end < encoded.length && ((encoded[end] ?? 0) & 0xc0) === 0x80) end--
  return {
    output: `${encoded.toString('utf8', 0, end)}\n[output truncated: ${end} of ${bytes} bytes kept]`,
    output_truncated: true
  }
}

/** Takes the note off an output that was truncated. */
export function splitTruncationNote (output: string): { kept: string, note: string } {
  const at = output.lastIndexOf('\n[output truncated: ')
  return at === -1 ? { kept: output, note: '' } : { kept: output.slice(0, at), note: output.slice(at) }
}
