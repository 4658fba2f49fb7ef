import { randomFillSync } from 'node:crypto'

/** A pool of random bytes: one call of crypto fills it for 500 ids. */
const pool = Buffer.allocUnsafe(4000)
let used = pool.length
let lastMs = 0
let counter = 0
/** The first characters of the ids in the millisecond `lastMs`. */
let prefix = ''
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * A new UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, a 12-bit counter that keeps the ids of one
 * millisecond in order (§6.2, method 1; on overflow the time runs ahead by a millisecond), 62 random bits.
 * The ids of one process sort in the order of their creation.
 */
export function newExecutionId (now_ms: number = Date.now()): string {
  if (now_ms > lastMs) {
    lastMs = now_ms
    counter = 0
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  if (used + 8 > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  if (counter === 0) {
    const time = lastMs.toString(16).padStart(12, '0')
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`
  }
  let tail = ''
  for (let i = 0; i < 8; i++) {
    const byte = pool[used++] as number
    if (i === 2) tail += '-'
    tail += hex[i === 0 ? (byte & 0x3f) | 0x80 : byte]
  }
  return `${prefix}${hex[counter >> 8]?.slice(1)}${hex[counter & 0xff]}-${tail}`
}
