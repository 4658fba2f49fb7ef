/** How messages are cut out of the bytes of a pipe: a frame is two lengths, a message and its payload. */

/** Two lengths, of the message and of the payload: 32 bits each, little endian. */
const prefixBytes = 8
/**
 * The limit of a message and of a payload. A greater length means that the reader has lost the beginning of the
 * messages.
 */
const partBytesMax = 256 * 1_048_576

/** The bytes of a message of 32-bit numbers and a text, and of its payload. */
export function frame (numbers: readonly number[], text: string, payload: Uint8Array): Buffer {
  const bytes = 4 * numbers.length + Buffer.byteLength(text)
  const whole = Buffer.allocUnsafe(prefixBytes + bytes + payload.length)
  let at = whole.writeUInt32LE(bytes, 0)
  at = whole.writeUInt32LE(payload.length, at)
  for (const number of numbers) at = whole.writeInt32LE(number | 0, at)
  whole.write(text, at, 'utf8')
  whole.set(payload, prefixBytes + bytes)
  return whole
}

/** The error for bytes that are not a message. */
export function outOfStep (): Error {
  return new Error('the pipe between server and helper is out of step')
}

/**
 * Joins messages from the chunks in which they arrive.
 * @returns a function that must be called with each chunk; it throws when the bytes can't be a message
 */
export function createDecoder<M> (
  read: (bytes: Buffer) => M,
  take: (message: M, payload: Buffer) => void
): (chunk: Buffer) => void {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let wanted = prefixBytes
  return chunk => {
    pending.push(chunk)
    pendingBytes += chunk.length
    // A long frame comes in many chunks; they are joined once, when all have arrived.
    if (pendingBytes < wanted) return
    const bytes = pending.length === 1 ? chunk : Buffer.concat(pending, pendingBytes)
    let at = 0
    for (wanted = prefixBytes; bytes.length - at >= wanted; wanted = prefixBytes) {
      const textBytes = bytes.readUInt32LE(at)
      const payloadBytes = bytes.readUInt32LE(at + 4)
      if (textBytes > partBytesMax || payloadBytes > partBytesMax) throw outOfStep()
      wanted = prefixBytes + textBytes + payloadBytes
      if (bytes.length - at < wanted) break
      const payloadAt = at + prefixBytes + textBytes
      take(read(bytes.subarray(at + prefixBytes, payloadAt)), bytes.subarray(payloadAt, payloadAt + payloadBytes))
      at += wanted
    }
    pending = at < bytes.length ? [bytes.subarray(at)] : []
    pendingBytes = bytes.length - at
  }
}
