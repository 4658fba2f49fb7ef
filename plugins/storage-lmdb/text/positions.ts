/**
 * The executions of a block: 4,096 with consecutive sequence numbers, from a multiple of 4,096 on. The words of a block
 * fit into memory while it is made, and a query over a million executions reads 244 blocks.
 */
export const blockLength = 4_096

export function blockOf (sequence: number): number {
  return Math.floor(sequence / blockLength)
}

/** The bytes of a set of positions in a block, with a bit for each. */
export const setBytes = blockLength / 8

/** From so many positions on, a set of bits is stored, which is smaller than a list of two bytes each. */
const listMax = setBytes / 2
/** Says that a set of bits follows, in the place of the number of positions. */
const isSet = 0xffff

/** A word's positions in a block, as they are stored. They must be in ascending order. */
export function encodePositions (positions: readonly number[]): Buffer {
  if (positions.length < listMax) {
    const list = Buffer.alloc(2 + 2 * positions.length)
    list.writeUInt16LE(positions.length)
    positions.forEach((position, index) => { list.writeUInt16LE(position, 2 + 2 * index) })
    return list
  }
  const set = Buffer.alloc(2 + setBytes)
  set.writeUInt16LE(isSet)
  for (const position of positions) addTo(set.subarray(2), position)
  return set
}

/** The bytes that encoded positions have. */
export function encodedBytes (bytes: Buffer, offset: number): number {
  const count = bytes.readUInt16LE(offset)
  return 2 + (count === isSet ? setBytes : 2 * count)
}

/** Adds encoded positions to a set. */
export function decodePositions (bytes: Buffer, offset: number, set: Uint8Array): void {
  const count = bytes.readUInt16LE(offset)
  if (count === isSet) {
    for (let index = 0; index < setBytes; index++) set[index] = (set[index] ?? 0) | (bytes[offset + 2 + index] ?? 0)
    return
  }
  for (let index = 0; index < count; index++) addTo(set, bytes.readUInt16LE(offset + 2 + 2 * index))
}

export function addTo (set: Uint8Array, position: number): void {
  set[position >> 3] = (set[position >> 3] ?? 0) | 1 << (position & 7)
}

export function isIn (set: Uint8Array, position: number): boolean {
  return ((set[position >> 3] ?? 0) >> (position & 7) & 1) === 1
}

/** Keeps in the first set what is in the second, too. @returns whether anything is left */
export function intersect (set: Uint8Array, other: Uint8Array): boolean {
  let left = 0
  for (let index = 0; index < set.length; index++) left |= set[index] = (set[index] ?? 0) & (other[index] ?? 0)
  return left !== 0
}
