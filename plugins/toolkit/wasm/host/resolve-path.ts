import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { ask, WasiError } from './wasi-error.ts'

/** The most symbolic links on the way to a file, as on Linux. */
const linksMax = 40
/** The longest path, in bytes, as on Linux. */
const pathBytesMax = 4_096

/** Where a path leads. The folder that holds its last part has no symbolic link on its way. */
export interface Resolved {
  path: string
  /** What is there; undefined where nothing is. Of a link itself, where links are not followed. */
  stats: BigIntStats | undefined
  /** Whether the path ends with a slash: then it names a folder. */
  folder: boolean
}

/**
 * Finds a file below a folder. It never leads out of the folder: not by `..`, not by an absolute path, and not by a
 * symbolic link. Whoever may change the folder at the same time could still exchange a part for a link, so where the
 * program is not trusted, the sandbox of its process is the boundary.
 * @param base the absolute path of the folder, without symbolic links
 * @param follow whether a link in the last part is followed
 * @throws WasiError
 */
export function resolvePath (base: string, path: string, follow: boolean): Resolved {
  refuseOdd(path)
  const folder = /(?:^|\/)\.{0,2}$/.test(path)
  const left = path.split('/').toReversed()
  const inside: string[] = []
  let links = 0
  let stats: BigIntStats | undefined
  while (left.length > 0) {
    const part = left.pop() ?? ''
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (inside.pop() === undefined) throw new WasiError('not-permitted')
      continue
    }
    const isLast = left.every(part => part === '')
    const place = join(base, ...inside, part)
    stats = statOf(place)
    if (stats === undefined && !isLast) throw new WasiError('no-entry')
    if (stats?.isSymbolicLink() === true && (follow || folder || !isLast)) {
      if (++links > linksMax) throw new WasiError('loop')
      const target = ask(() => readlinkSync(place))
      refuseOdd(target)
      left.push(...target.split('/').toReversed())
      continue
    }
    if (!isLast && stats?.isDirectory() !== true) throw new WasiError('not-directory')
    inside.push(part)
  }
  const found = join(base, ...inside)
  return { path: found, stats: statOf(found), folder }
}

function refuseOdd (path: string): void {
  if (path === '') throw new WasiError('no-entry')
  if (path.includes('\0')) throw new WasiError('illegal-byte-sequence')
  if (Buffer.byteLength(path) > pathBytesMax) throw new WasiError('name-too-long')
  if (path.startsWith('/')) throw new WasiError('not-permitted')
}

function statOf (path: string): BigIntStats | undefined {
  return ask(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
}
