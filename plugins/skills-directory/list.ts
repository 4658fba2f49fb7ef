import { opendir, readdir, realpath, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hasCode, SKILL_NAME } from '../../kernel/index.ts'
import { mapAtMost } from './at-most.ts'
import { systemMessage } from './files.ts'
import type { Fault, Folder } from './protocol.ts'
import { revisionOf } from './revision.ts'

/** The most entries of a directory that are looked at. */
export const entriesMax = 10_000
/** How many folders are read at once. */
export const readingMax = 16

/** Modules that a script skill may consist of. */
export const MODULES = ['skill.js', 'skill.mjs', 'skill.ts'] as const
export const MANIFEST = 'skill.toml'

/** The folders of a directory that hold a skill. */
export interface Listing {
  folders: Folder[]
  /** Folders without a skill in them. */
  ignored: number
  /** What is wrong with the directory or one of its entries. */
  faults: Fault[]
  /** Whether the directory is there at all. */
  found: boolean
}

/** The skill folders of a directory, by name. A folder is one when it has a manifest or a module. Rejects only with the signal's reason. */
export async function listSkills (directory: string, signal: AbortSignal): Promise<Listing> {
  const listing: Listing = { folders: [], ignored: 0, faults: [], found: true }
  const fault = (path: string, error: string): void => { listing.faults.push({ name: basename(path), path, error }) }
  let names: string[]
  try {
    names = await entriesOf(directory)
  } catch (error) {
    listing.found = !hasCode(error, 'ENOENT')
    fault(directory, `the skills directory can't be read: ${systemMessage(error)}`)
    return listing
  }
  if (names.length > entriesMax) {
    names.length = entriesMax
    fault(directory, `the skills directory has more than ${entriesMax} entries; those beyond are not looked at`)
  }
  const looked = await mapAtMost(readingMax, names.sort(), name => {
    signal.throwIfAborted()
    return look(directory, name)
  })
  for (const found of looked) {
    if (found === undefined) listing.ignored++
    else if ('error' in found) listing.faults.push(found)
    else listing.folders.push(found)
  }
  return listing
}

/** At most one name more than is looked at. */
async function entriesOf (directory: string): Promise<string[]> {
  const names: string[] = []
  for await (const entry of await opendir(directory)) {
    if (!entry.name.startsWith('.') && entry.name !== 'node_modules' && !entry.isFile()) names.push(entry.name)
    if (names.length > entriesMax) break
  }
  return names
}

async function look (directory: string, name: string): Promise<Folder | Fault | undefined> {
  const path = join(directory, name)
  try {
    if (!(await stat(path)).isDirectory()) return undefined
    const files = await readdir(path)
    if (![MANIFEST, ...MODULES].some(file => files.includes(file))) return undefined
    if (!SKILL_NAME.test(name)) return { name, path, error: `the folder's name "${name}" can't be a skill's: it must be 1 to 64 of a-z, 0-9 and -` }
    return { name, path, real_path: await realpath(path), revision: await revisionOf(path) }
  } catch (error) {
    return { name, path, error: `the folder can't be read: ${systemMessage(error)}` }
  }
}
