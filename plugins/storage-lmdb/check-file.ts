import { constants, open, type FileHandle } from 'node:fs/promises'
import { hasCode } from '../../kernel/index.ts'
import { headerBytes, headerOf, noPage, pageKinds, readMeta, type Meta } from './file/layout.ts'

/** The number of attempts to check a file, since a commit of another process may disturb a check. */
const attempts = 3

/**
 * LMDB ends the process by a signal when it opens a damaged file. So a file is checked before it is opened: both meta
 * pages, the length that they require, and the roots of the trees. A missing or empty file is treated as new.
 * @returns the newer meta page; undefined for a new file
 * @throws Error naming the file and a way to solve the problem
 */
export async function checkFile (file: string): Promise<Meta | undefined> {
  for (let attempt = 1; ; attempt++) {
    const result = await look(file)
    if (typeof result !== 'string') return result
    if (attempt === attempts) throw damaged(file, result)
    await new Promise(resolve => { setTimeout(resolve, 20) })
  }
}

/** The error for a file that can't be used. */
export function damaged (file: string, fault: string): Error {
  return new Error(`${file} is damaged: ${fault}. Save what can still be read with skillet doctor --repair, or put a copy in its place with skillet restore`)
}

/** The newer meta page, or a text with the damage. */
async function look (file: string): Promise<Meta | string | undefined> {
  let handle
  try {
    // The file may have been replaced by a link, or by a pipe, for which `open` would block.
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
    const meta = await readMeta((position, length) => read(handle, position, length))
    if (typeof meta === 'string') return meta
    // The size is read after the meta page: the file only grows, so it can't look too short because of another
    // process's commit.
    const { size } = await handle.stat()
    const bytes = (Number(meta.lastPage) + 1) * meta.pageSize
    if (size < bytes) return `it has ${size} bytes of at least ${bytes}`
    for (const { root } of [meta.free, meta.main]) {
      const fault = await checkRoot(handle, root, meta)
      if (fault !== undefined) return fault
    }
    return meta
  } finally {
    await handle.close()
  }
}

/**
 * Checks the header of a tree's root: the page must have its own number, be a branch or a leaf, and have its free space
 * within the page.
 */
async function checkRoot (handle: FileHandle, root: bigint, { pageSize, lastPage }: Meta): Promise<string | undefined> {
  if (root === noPage) return undefined
  if (root < 2n || root > lastPage) return `a tree begins at page ${root} of ${lastPage}`
  const bytes = await read(handle, Number(root) * pageSize, headerBytes)
  if (bytes === undefined) return `page ${root} is past its end`
  const { page, kind, lower, upper } = headerOf(bytes)
  if (page !== root || (kind & (pageKinds.branch | pageKinds.leaf)) === 0) {
    return `page ${root} is not the root of a tree`
  }
  return lower > upper || upper > pageSize ? `page ${root} has its free space at ${lower} to ${upper}` : undefined
}

async function read (handle: FileHandle, position: number, length: number): Promise<Buffer | undefined> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position)
  return bytesRead === length ? buffer : undefined
}
