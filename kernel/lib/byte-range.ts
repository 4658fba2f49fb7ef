/** A part of a text or file: from a byte up to another one, which is not part of it. */
export interface ByteRange { readonly from: number, readonly to: number }

/** A number of a range: longer ones would be beyond every file. */
const pattern = /^(\d{0,15})-(\d{0,15})$/

/**
 * Reads a range as HTTP writes it (RFC 9110): `0-499` are the first 500 bytes, `500-` all after them, and `-500` the
 * last 500.
 * @param bytes how many there are
 * @returns `invalid` when it is no such text; undefined when there is no byte in that range
 */
export function readRange (text: string, bytes: number): ByteRange | 'invalid' | undefined {
  const [, first = '', last = ''] = pattern.exec(text) ?? []
  if (first === '' && last === '') return 'invalid'
  if (first === '') {
    const from = Math.max(0, bytes - Number(last))
    return from < bytes ? { from, to: bytes } : undefined
  }
  const from = Number(first)
  if (last !== '' && Number(last) < from) return 'invalid'
  const to = last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  return from < bytes ? { from, to } : undefined
}
