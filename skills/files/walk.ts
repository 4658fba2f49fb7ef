import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import picomatch from 'picomatch'
import { codeOf, type Roots } from '../shared/roots.ts'

/** The most entries that one call looks at, however many match. */
export const visitedMax = 200_000
/** How deep folders are entered. */
const depthMax = 64

export type Kind = 'file' | 'folder' | 'link' | 'other'

export interface Found { path: string, relative: string, name: string, kind: Kind, depth: number }

export interface WalkOptions { hidden: boolean, depth?: number, exclude: readonly string[] }

/** What a walk left out, so that the answer can say it. */
export interface Omitted { unreadable: number, cut: boolean }

export function kindOf (entry: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Kind {
  return entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other'
}

/** Everything below a folder, each folder before what is in it. Symbolic links are given, not followed. */
export async function * walk (
  roots: Roots, top: string, { hidden, depth = depthMax, exclude }: WalkOptions, omitted: Omitted, signal: AbortSignal
): AsyncGenerator<Found> {
  const excluded = matcher(exclude)
  let visited = 0
  async function * below (folder: string, relative: string, level: number): AsyncGenerator<Found> {
    signal.throwIfAborted()
    let entries: Dirent[]
    try {
      entries = await roots.entries(folder)
    } catch (error) {
      if (level === 1) throw error
      if (!['EACCES', 'EPERM', 'ENOENT', 'ELOOP', 'ENOTDIR'].includes(codeOf(error))) throw error
      omitted.unreadable++ // or gone, or replaced by a link in the meantime
      return
    }
    for (const entry of entries) {
      const { name } = entry
      if (!hidden && name.startsWith('.')) continue
      if (++visited > visitedMax) {
        omitted.cut = true
        return
      }
      const below_ = relative === '' ? name : `${relative}/${name}`
      if (excluded(below_)) continue
      const kind = kindOf(entry)
      yield { path: join(folder, name), relative: below_, name, kind, depth: level }
      if (kind === 'folder' && level < Math.min(depth, depthMax)) yield * below(join(folder, name), below_, level + 1)
      if (omitted.cut) return
    }
  }
  yield * below(top, '', 1)
}

/** Whether a path below the top matches a glob. One without a slash matches names at any depth. */
export function matcher (globs: readonly string[]): (relative: string) => boolean {
  if (globs.length === 0) return () => false
  return picomatch(globs.map(glob => glob.includes('/') ? glob : `**/${glob}`), {
    dot: true, nonegate: true, strictBrackets: false
  })
}

/** A line that says what was left out, or nothing. */
export function noteOf ({ unreadable, cut }: Omitted, more: readonly string[] = []): string {
  const notes = [
    ...more,
    ...(unreadable > 0 ? [`${unreadable} folders could not be read`] : []),
    ...(cut ? [`stopped after ${visitedMax} entries`] : [])
  ]
  return notes.length === 0 ? '' : `(${notes.join('; ')})`
}
