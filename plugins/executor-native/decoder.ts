import { outOfStep, prefixBytes, type FromHelper, type ToHelper } from './protocol.ts'

/**
 * The limit of a message and of a payload. A greater length means that the reader has lost the beginning of the
 * messages.
 */
const partBytesMax = 256 * 1_048_576

/**
 * Joins messages from the chunks in which they arrive.
 * @returns a function that must be called with each chunk; it throws when the bytes can't be a message
 */
export function createDecoder<M extends ToHelper | FromHelper> (
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
