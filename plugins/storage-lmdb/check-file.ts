import { constants, open, type FileHandle } from 'node:fs/promises'
import { hasCode } from '../../kernel/index.ts'

/**
 * The layout of a file in LMDB's data format 2 (integers in the byte order of the machine). A page begins with a
 * header: its number, the transaction that wrote it, flags, and the beginning and end of its free space.
 */
const headerBytes = 24
const pageFlagsAt = 18
const magicAt = 24
const versionAt = 28
const pageSizeAt = 48
const freeRootAt = 88
const mainRootAt = 136
const lastPageAt = 144
const transactionAt = 152
const metaBytes = 168

const magic = 0xbeefc0de
const version = 2
const flags = { branch: 1, leaf: 2, meta: 8 } as const
/** The root of an empty tree. */
const noPage = 0xffff_ffff_ffff_ffffn

interface Meta { pageSize: number, freeRoot: bigint, mainRoot: bigint, lastPage: bigint, transaction: bigint }

/** How many times the check is tried, since a commit of another process may disturb it. */
const attempts = 3

/**
 * LMDB ends the process by a signal when it opens a damaged file. So a file is checked before it is opened: both meta
 * pages, the length that they require, and the roots of the trees. A missing or empty file is treated as new.
 * @throws Error naming the file and a way to solve the problem
 */
export async function checkFile (file: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const wrong = await findDamage(file)
    if (wrong === undefined) return
    if (attempt === attempts) {
      throw new Error(`${file} is damaged: ${wrong}. Move it and ${file}-lock away to start with an empty history, or put a backup in its place`)
    }
    await new Promise(resolve => { setTimeout(resolve, 20) })
  }
}

async function findDamage (file: string): Promise<string | undefined> {
  let handle
  try {
    // The file may have been replaced since the check before: by a link, or by a pipe, where `open` would wait.
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (hasCode(error, 'ELOOP')) return 'it is a symbolic link'
    throw error
  }
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) return 'it is not a file'
    if (stat.size === 0) return undefined
    const meta = await readMeta(handle)
    if (typeof meta === 'string') return meta
    // The size is read after the meta page: the file only grows, so it can't look too short because of another
    // process's commit.
    const { size } = await handle.stat()
    const bytes = (Number(meta.lastPage) + 1) * meta.pageSize
    if (size < bytes) return `it has ${size} bytes of at least ${bytes}`
    for (const root of [meta.freeRoot, meta.mainRoot]) {
      const wrong = await checkRoot(handle, root, meta)
      if (wrong !== undefined) return wrong
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** The newer of the two meta pages, or a text with the damage in them. */
async function readMeta (handle: FileHandle): Promise<Meta | string> {
  const first = await readMetaAt(handle, 0)
  if (typeof first === 'string') return first
  const second = await readMetaAt(handle, first.pageSize)
  if (typeof second === 'string') return second
  return second.transaction > first.transaction ? second : first
}

async function readMetaAt (handle: FileHandle, position: number): Promise<Meta | string> {
  const bytes = await read(handle, metaBytes, position)
  if (bytes === undefined) return 'it ends within its first two pages'
  if (bytes.readUInt32LE(magicAt) !== magic || (bytes.readUInt16LE(pageFlagsAt) & flags.meta) === 0) {
    return `there is no LMDB meta page at byte ${position}`
  }
  const found = bytes.readUInt32LE(versionAt) & 0xffff
  if (found !== version) return `its LMDB data format is ${found}, not ${version}`
  const pageSize = bytes.readUInt32LE(pageSizeAt)
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) {
    return `it gives a page size of ${pageSize}`
  }
  const meta = {
    pageSize,
    freeRoot: bytes.readBigUInt64LE(freeRootAt),
    mainRoot: bytes.readBigUInt64LE(mainRootAt),
    lastPage: bytes.readBigUInt64LE(lastPageAt),
    transaction: bytes.readBigUInt64LE(transactionAt)
  }
  if (meta.lastPage < 1n || meta.lastPage > 2n ** 44n) return `it gives a last page of ${meta.lastPage}`
  return meta
}

/**
 * Checks the header of a tree's root: the page must have its own number, be a branch or a leaf, and have its free space
 * within the page.
 */
async function checkRoot (handle: FileHandle, root: bigint, { pageSize, lastPage }: Meta): Promise<string | undefined> {
  if (root === noPage) return undefined
  if (root < 2n || root > lastPage) return `a tree begins at page ${root} of ${lastPage}`
  const bytes = await read(handle, headerBytes, Number(root) * pageSize)
  const kind = bytes?.readUInt16LE(pageFlagsAt) ?? 0
  if (bytes?.readBigUInt64LE(0) !== root || (kind & (flags.branch | flags.leaf)) === 0) {
    return `page ${root} is not the root of a tree`
  }
  const lower = bytes.readUInt16LE(20)
  const upper = bytes.readUInt16LE(22)
  return lower > upper || upper > pageSize ? `page ${root} has its free space at ${lower} to ${upper}` : undefined
}

async function read (handle: FileHandle, length: number, position: number): Promise<Buffer | undefined> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position)
  return bytesRead === length ? buffer : undefined
}
