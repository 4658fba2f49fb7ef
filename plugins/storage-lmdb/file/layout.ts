/**
 * The layout of a file in LMDB's data format 2 (integers in the byte order of the machine). A page begins with a
 * header: its number, the transaction that wrote it, flags, and the beginning and end of its free space. Branches and
 * leaves then have the offsets of their nodes, which stand at the end of the page, without gaps.
 */
const pageFlagsAt = 18
const lowerAt = 20
const upperAt = 22
const magicAt = 24
const versionAt = 28
const pageSizeAt = 48
const freeTreeAt = 48
const mainTreeAt = 96
const lastPageAt = 144
const transactionAt = 152

export const headerBytes = 24
export const metaBytes = 168
/** The bytes of a node before its key: the size of its value (2 × 2), flags and the size of its key. */
export const nodeBytes = 8
/** The bytes of the description of a tree. */
export const treeBytes = 48
/** The root of an empty tree. */
export const noPage = 0xffff_ffff_ffff_ffffn

export const pageKinds = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const
export const nodeFlags = { overflow: 1, tree: 2 } as const

const magic = 0xbeefc0de
const version = 2
const pageSizes = { min: 512, max: 65_536, usual: 4_096 } as const

/** The description of a tree: in a meta page, or as the value of the table's name. */
export interface Tree {
  flags: number
  depth: number
  branches: number
  leaves: number
  overflows: number
  entries: number
  root: bigint
}

export interface Meta { pageSize: number, free: Tree, main: Tree, lastPage: bigint, transaction: bigint }

/** Reads at a position of the file; undefined past its end. */
export type ReadAt = (position: number, length: number) => Promise<Buffer | undefined>

/** The newer of the two meta pages, or a text with the damage in them. */
export async function readMeta (read: ReadAt): Promise<Meta | string> {
  const first = metaOf(await read(0, metaBytes), 0)
  if (typeof first === 'string') return first
  const second = metaOf(await read(first.pageSize, metaBytes), first.pageSize)
  if (typeof second === 'string') return second
  if (first.pageSize !== second.pageSize) {
    return `its meta pages give page sizes of ${first.pageSize} and ${second.pageSize}`
  }
  return second.transaction > first.transaction ? second : first
}

/** Whichever meta page can be read, the newer if both can; undefined if none can. */
export async function readAnyMeta (read: ReadAt): Promise<Meta | undefined> {
  const first = metaOf(await read(0, metaBytes), 0)
  const size = typeof first === 'string' ? pageSizes.usual : first.pageSize
  const second = metaOf(await read(size, metaBytes), size)
  const metas = [first, second].filter(meta => typeof meta !== 'string')
  return metas.toSorted((a, b) => a.transaction < b.transaction ? 1 : -1)[0]
}

/** The size of the pages where no meta page tells it. */
export const usualPageSize = pageSizes.usual

function metaOf (bytes: Buffer | undefined, position: number): Meta | string {
  if (bytes === undefined) return 'it ends within its first two pages'
  if (bytes.readUInt32LE(magicAt) !== magic || (bytes.readUInt16LE(pageFlagsAt) & pageKinds.meta) === 0) {
    return `there is no LMDB meta page at byte ${position}`
  }
  const fileVersion = bytes.readUInt32LE(versionAt) & 0xffff
  if (fileVersion !== version) return `its LMDB data format is ${fileVersion}, not ${version}`
  const pageSize = bytes.readUInt32LE(pageSizeAt)
  if (pageSize < pageSizes.min || pageSize > pageSizes.max || (pageSize & (pageSize - 1)) !== 0) {
    return `it gives a page size of ${pageSize}`
  }
  const lastPage = bytes.readBigUInt64LE(lastPageAt)
  if (lastPage < 1n || lastPage > 2n ** 44n) return `it gives a last page of ${lastPage}`
  return {
    pageSize, lastPage, free: treeOf(bytes, freeTreeAt), main: treeOf(bytes, mainTreeAt),
    transaction: bytes.readBigUInt64LE(transactionAt)
  }
}

/** Reads the description of a tree. Damaged numbers are too large for any comparison to succeed. */
export function treeOf (bytes: Buffer, at = 0): Tree {
  const number = (offset: number): number => Number(bytes.readBigUInt64LE(at + offset))
  return {
    flags: bytes.readUInt16LE(at + 4), depth: bytes.readUInt16LE(at + 6),
    branches: number(8), leaves: number(16), overflows: number(24), entries: number(32),
    root: bytes.readBigUInt64LE(at + 40)
  }
}

/**
 * The header of a page. In branches and leaves, `lower` and `upper` are where the free space begins and ends, in bytes
 * from the beginning of the page; on disk they are counted from the end of the header. In overflow pages, `pages` is
 * the number of pages of the value.
 */
export interface Header { page: bigint, transaction: bigint, kind: number, lower: number, upper: number, pages: number }

export function headerOf (bytes: Buffer): Header {
  return {
    page: bytes.readBigUInt64LE(0), transaction: bytes.readBigUInt64LE(8), kind: bytes.readUInt16LE(pageFlagsAt),
    lower: headerBytes + bytes.readUInt16LE(lowerAt), upper: headerBytes + bytes.readUInt16LE(upperAt),
    pages: bytes.readUInt32LE(lowerAt)
  }
}

/** A node of a branch (`child` means something) or a leaf (`flags` and `value`, which may name overflow pages). */
export interface Node { key: Buffer, child: bigint, flags: number, size: number, value: Buffer }

/** The nodes of a page, or a text with the damage in it. */
export function nodesOf (bytes: Buffer, { kind, lower, upper }: Header): Node[] | string {
  if (lower > upper || upper > bytes.length || lower % 2 !== 0) {
    return `has its free space at ${lower} to ${upper}`
  }
  const nodes: Node[] = []
  let used = 0
  for (let at = headerBytes; at < lower; at += 2) {
    const node = nodeAt(bytes, headerBytes + bytes.readUInt16LE(at), upper, kind)
    if (node === undefined) return `has a node that is not within it, its number ${nodes.length}`
    nodes.push(node)
    const length = nodeBytes + node.key.length + node.value.length
    used += length + length % 2
  }
  return used === bytes.length - upper ? nodes : `has nodes of ${used} bytes in ${bytes.length - upper}`
}

function nodeAt (bytes: Buffer, at: number, upper: number, kind: number): Node | undefined {
  if (at < upper || at % 2 !== 0 || at + nodeBytes > bytes.length) return undefined
  const flags = bytes.readUInt16LE(at + 4)
  const size = bytes.readUInt32LE(at)
  const from = at + nodeBytes
  const to = from + bytes.readUInt16LE(at + 6)
  const isBranch = kind === pageKinds.branch
  // The value of a large entry says where its overflow pages are: page, transaction, number of pages.
  const here = isBranch ? 0 : (flags & nodeFlags.overflow) === 0 ? size : headerBytes
  if (to + here > bytes.length) return undefined
  const child = BigInt(size) | (BigInt(flags) << 32n)
  return { key: bytes.subarray(from, to), child, flags, size, value: bytes.subarray(to, to + here) }
}
