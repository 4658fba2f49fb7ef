/** The bytes of the longest number. */
const numberBytes = 9

/**
 * The number that a key stands for. lmdb writes a positive number as a 1 of 4 bits and the 64 bits of the double, and
 * leaves out zeros at the end.
 * @returns NaN when the key is not such a number
 */
export function sequenceOf (key: Buffer): number {
  if (key.length < 4 || key.length > numberBytes || (key[0] ?? 0) >> 4 !== 1) return Number.NaN
  const padded = Buffer.alloc(numberBytes)
  key.copy(padded)
  const double = Buffer.alloc(8)
  for (let i = 0; i < 8; i++) double[i] = ((padded[i] ?? 0) << 4) | ((padded[i + 1] ?? 0) >> 4)
  const number = double.readDoubleBE(0)
  return Number.isSafeInteger(number) ? number : Number.NaN
}
