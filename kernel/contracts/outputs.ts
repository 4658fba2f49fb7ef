import type { ByteRange } from '../lib/byte-range.ts'

/** The whole output of an execution that has ended: it does not change any more. */
export interface StoredOutput {
  readonly execution_id: string
  readonly bytes: number
  /** When the execution ended (ISO 8601). */
  readonly ended_at: string
  /** Reads a part of it, in UTF-8, piece by piece. The stream fails when the file was removed meanwhile. */
  read (range: ByteRange): ReadableStream<Uint8Array>
}

/** The whole outputs of executions, and what handles in parameters need of them. */
export interface Outputs {
  /**
   * The output of an execution.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT while it has not ended; OUTPUT_NOT_FOUND when its file is gone
   */
  open (id: string): Promise<StoredOutput>
  /**
   * The value that a JMESPath expression selects from a JSON text, and its size as JSON; null when it selects nothing.
   * @throws SkilletError INVALID_PARAMETERS when it can't be applied
   */
  select (text: string, expression: string): Promise<{ value: unknown, bytes: number }>
  /**
   * Counts memory for outputs in parameters, until the returned function is called, which must be called once.
   * @throws SkilletError OVERLOADED when all calls together would hold too much
   */
  hold (bytes: number): () => void
}

/** An output, or a part of it, as text. A character of which the part has only some bytes becomes U+FFFD. */
export async function textOf (output: StoredOutput, range: ByteRange = { from: 0, to: output.bytes }): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let text = ''
  for await (const piece of output.read(range)) text += decoder.decode(piece, { stream: true })
  return text + decoder.decode()
}
