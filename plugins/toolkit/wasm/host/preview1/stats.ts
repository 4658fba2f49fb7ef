import type { BigIntStats } from 'node:fs'
import { WasiError } from '../wasi-error.ts'
import type { Descriptor } from './descriptors.ts'

/** The types of files in preview 1. */
const fileTypes = { unknown: 0, block: 1, character: 2, folder: 3, file: 4, link: 7 } as const

export function fileTypeOf (stats: BigIntStats | undefined): number {
  if (stats === undefined) return fileTypes.unknown
  if (stats.isFile()) return fileTypes.file
  if (stats.isDirectory()) return fileTypes.folder
  if (stats.isSymbolicLink()) return fileTypes.link
  if (stats.isCharacterDevice()) return fileTypes.character
  return stats.isBlockDevice() ? fileTypes.block : fileTypes.unknown
}

/** Writes the 64 bytes of a `filestat`. */
export function writeFilestat (view: DataView, stats: BigIntStats | undefined): void {
  const { dev = 0n, ino = 0n, nlink = 1n, size = 0n, atimeNs = 0n, mtimeNs = 0n, ctimeNs = 0n } = stats ?? {}
  view.setBigUint64(0, dev, true)
  view.setBigUint64(8, ino, true)
  view.setUint8(16, stats === undefined ? fileTypes.character : fileTypeOf(stats))
  for (const [i, value] of [nlink, size, atimeNs, mtimeNs, ctimeNs].entries()) {
    view.setBigUint64(24 + 8 * i, BigInt.asUintN(64, value), true)
  }
}

/** The rights that say what can be done with a descriptor: programs look at them to learn how a file is open. */
export const rights = { read: 1n << 1n, write: 1n << 6n, all: (1n << 30n) - 1n } as const
/** Rights for what changes a file, or anything in a folder. */
const changing = (1n << 6n) | (1n << 8n) | (0b111111n << 9n) | (1n << 17n) | (0b11n << 19n) | (0b11111n << 22n)

export function rightsOf (descriptor: Descriptor): bigint {
  if (descriptor.kind === 'folder') {
    const { writable } = descriptor.folder
    const readOnly = rights.all & ~changing | (1n << 13n) | (1n << 14n) | (1n << 15n) | (1n << 11n)
    return (writable ? rights.all : readOnly) & ~(rights.read | rights.write | (1n << 2n) | (1n << 5n))
  }
  if (descriptor.kind === 'file') {
    const { readable, writable } = descriptor.file
    return rights.all & ~(readable ? 0n : rights.read) & ~(writable ? 0n : changing)
  }
  const basic = (1n << 3n) | (1n << 21n) | (1n << 27n)
  return basic | (descriptor.kind === 'stdin' ? rights.read : rights.write)
}

/** An offset or a size as a number. @throws WasiError */
export function numberOf (value: bigint): number {
  const number = Number(BigInt.asIntN(64, value))
  if (!Number.isSafeInteger(number) || number < 0) throw new WasiError('invalid')
  return number
}

/** The times that a call sets, in seconds. Flags: 1 and 4 set what is given, 2 and 8 set the time that it is now. */
export function timesOf (
  stats: BigIntStats, accessed_ns: bigint, changed_ns: bigint, flags: number
): readonly [number, number] {
  const one = (kept: bigint, given: bigint, bits: number): number => {
    if (bits === 3) throw new WasiError('invalid')
    if (bits === 2) return Date.now() / 1_000
    return Number(bits === 1 ? BigInt.asUintN(64, given) : kept) / 1e9
  }
  return [one(stats.atimeNs, accessed_ns, flags & 3), one(stats.mtimeNs, changed_ns, (flags >> 2) & 3)]
}
