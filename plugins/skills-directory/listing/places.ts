import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configHome } from '../../../kernel/index.ts'
import type { DirectorySettings } from '../settings.ts'
import { listSkills, type Listing, type ListOptions } from './list.ts'

/** The directory of the bundled skills, beside the compiled plugins. */
const bundledDirectory = fileURLToPath(new URL('../../../skills', import.meta.url))

/** A directory of skill folders. */
export interface Place {
  path: string
  /** Whether the user configured it, so that it is an error when it is missing. */
  named: boolean
  bundled: boolean
}

/** The directories of skills; later places shadow earlier ones. */
export function placesOf ({ bundled, directories }: Pick<DirectorySettings, 'bundled' | 'directories'>): Place[] {
  const last = directories.filter((path, i) => directories.indexOf(path, i + 1) < 0)
  return [
    ...(bundled ? [{ path: bundledDirectory, named: true, bundled: true }] : []),
    { path: join(configHome(process.env), 'skills'), named: false, bundled: false },
    ...last.map(path => ({ path, named: true, bundled: false }))
  ]
}

/** As `listSkills`, but a directory whose file system does not answer gets a fault after `limit_ms`. */
export async function listPlace (
  { path }: Place, limit_ms: number, signal: AbortSignal, options: ListOptions = {}
): Promise<Listing> {
  const limit = AbortSignal.timeout(limit_ms)
  const both = AbortSignal.any([signal, limit])
  // An abort signal does not end a call that the file system blocks.
  const late = new Promise<never>((_resolve, reject) => {
    both.addEventListener('abort', () => { reject(both.reason) }, { once: true })
  })
  try {
    return await Promise.race([listSkills(path, both, options), late])
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error
    const fault = {
      name: basename(path),
      path,
      error: `the skills directory can't be read: it took longer than ${limit_ms / 1000} s`
    }
    return {
      entries: new Map(), linked: new Set(), faults: [fault], unreadable: true, real_path: path, identity: undefined
    }
  }
}
