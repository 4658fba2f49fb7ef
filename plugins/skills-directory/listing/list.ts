import type { Stats } from 'node:fs'
import { opendir, readdir, realpath, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isAbsent, SKILL_NAME } from '../../../kernel/index.ts'
import { hasModule, isSkill, lenientName, MANIFEST } from '../../toolkit/skill-folder.ts'
import { mapAtMost } from '../shared/at-most.ts'
import { systemMessage } from '../shared/files.ts'
import type { Fault, Folder } from '../shared/protocol.ts'
import { revisionOf } from './revision.ts'

/** The number of entries of a directory that are read. */
export const entriesMax = 10_000
/** The number of folders that are read at once. */
export const readingMax = 16

/** The result of checking an entry of a skills directory; undefined for an entry without a skill. */
export type Looked = Folder | Fault | undefined

/** The contents of a skills directory. */
export interface Listing {
  /** The entries by name: directories, and entries that may be directories. */
  entries: Map<string, Looked>
  /** Entries that are symbolic links. */
  linked: Set<string>
  /** The faults of the directory itself. */
  faults: Fault[]
  /** Whether the directory is there, as far as is known, but could not be read: what it contains is unknown. */
  unreadable: boolean
  /** The path of the directory without symbolic links; undefined when the directory is missing. */
  real_path: string | undefined
  /** A text that differs when the directory was replaced by another one. */
  identity: string | undefined
}

export interface ListOptions {
  /** An earlier listing, and the entries that may have changed since; other entries are not read again. */
  previous?: { listing: Listing, changed: ReadonlySet<string> } | undefined
  /** Entries that can't be the skill of this name are left out. */
  only?: string | undefined
}

/** Reads the entries of a directory. Rejects only with the signal's reason. */
export async function listSkills (
  directory: string,
  signal: AbortSignal,
  { previous, only }: ListOptions = {}
): Promise<Listing> {
  const listing: Listing = {
    entries: new Map(), linked: new Set(), faults: [], unreadable: false, real_path: undefined, identity: undefined
  }
  const fault = (error: string): void => { listing.faults.push({ name: basename(directory), path: directory, error }) }
  const names: string[] = []
  try {
    listing.identity = identityOf(await stat(directory))
    listing.real_path = await realpath(directory)
    for await (const entry of await opendir(directory)) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules' || entry.isFile()) continue
      if (only !== undefined && entry.name !== only && lenientName(entry.name) !== only) continue
      names.push(entry.name)
      if (entry.isSymbolicLink()) listing.linked.add(entry.name)
      if (names.length > entriesMax) break
    }
  } catch (error) {
    if (isAbsent(error)) listing.real_path = undefined
    else listing.unreadable = true
    fault(`the skills directory can't be read: ${systemMessage(error)}`)
    return listing
  }
  if (names.length > entriesMax) {
    names.length = entriesMax
    fault(`the skills directory has more than ${entriesMax} entries; those beyond are not looked at`)
  }
  const looked = await mapAtMost(readingMax, names.sort(), async name => {
    signal.throwIfAborted()
    return previous !== undefined && previous.listing.entries.has(name) && !previous.changed.has(name)
      ? previous.listing.entries.get(name)
      : await look(directory, name)
  })
  for (const [i, name] of names.entries()) listing.entries.set(name, looked[i])
  refuseTwins(listing.entries)
  return listing
}

/** When several folders lead to the same name, the skill is the folder with exactly that name, or the first one. */
function refuseTwins (entries: Map<string, Looked>): void {
  const first = new Map<string, string>()
  for (const [entry, looked] of entries) {
    if (looked === undefined || 'error' in looked) continue
    const other = first.get(looked.name)
    const [skill, twin] = other === undefined || entry === looked.name ? [entry, other] : [other, entry]
    first.set(looked.name, skill)
    const refused = twin === undefined ? undefined : entries.get(twin)
    if (twin !== undefined && refused !== undefined) {
      entries.set(twin, {
        name: twin,
        path: refused.path,
        error: `the folder beside it, "${skill}", has the same name as a skill: "${looked.name}"`
      })
    }
  }
}

async function look (directory: string, entry: string): Promise<Looked> {
  const path = join(directory, entry)
  try {
    const stats = await stat(path)
    if (!stats.isDirectory()) return undefined
    const files = new Set(await readdir(path))
    if (!isSkill(files)) return undefined
    const module = hasModule(files)
    const name = module || files.has(MANIFEST) ? entry : lenientName(entry)
    if (!SKILL_NAME.test(name)) {
      return { name: entry, path, error: `the folder's name "${entry}" can't be a skill's: it must be 1 to 64 of a-z, 0-9 and -` }
    }
    return {
      name,
      path,
      real_path: await realpath(path),
      identity: identityOf(stats),
      module,
      revision: await revisionOf(path, module, files)
    }
  } catch (error) {
    return { name: entry, path, error: `the folder can't be read: ${systemMessage(error)}` }
  }
}

/** A text that distinguishes a directory from another one that replaced it; the inode alone may be reused. */
export function identityOf ({ ino, birthtimeMs }: Stats): string {
  return `${ino} ${birthtimeMs}`
}
