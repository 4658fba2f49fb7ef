import type { Stats } from 'node:fs'
import { opendir, readdir, realpath, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isAbsent, SKILL_NAME } from '../../../kernel/index.ts'
import { mapAtMost } from '../shared/at-most.ts'
import { systemMessage } from '../shared/files.ts'
import type { Fault, Folder } from '../shared/protocol.ts'
import { revisionOf } from './revision.ts'

/** The most entries of a directory that are looked at. */
export const entriesMax = 10_000
/** How many folders are read at once. */
export const readingMax = 16

/** Modules that a script skill may consist of. */
export const MODULES = ['skill.js', 'skill.mjs', 'skill.ts'] as const
export const MANIFEST = 'skill.toml'
/** Instructions in the format of Agent Skills; alone in a folder, they are a skill. The first name is the right one. */
export const INSTRUCTIONS = ['SKILL.md', 'skill.md'] as const

/** What an entry of a skills directory is; undefined for one without a skill in it. */
export type Looked = Folder | Fault | undefined

/** What a skills directory holds. */
export interface Listing {
  /** By the entry's name: directories, and what might be one. */
  entries: Map<string, Looked>
  /** Entries that are symbolic links. */
  linked: Set<string>
  /** What is wrong with the directory itself. */
  faults: Fault[]
  /** Where the directory really is; undefined where it is not there. */
  real_path: string | undefined
  /** Differs when the directory was replaced by another. */
  identity: string | undefined
}

export interface ListOptions {
  /** An earlier listing, and the entries that may have changed since: others are not looked at again. */
  known?: { listing: Listing, changed: ReadonlySet<string> } | undefined
  /** Entries that can't be the skill of this name are left out. */
  only?: string | undefined
}

/** Looks at the entries of a directory. Rejects only with the signal's reason. */
export async function listSkills (directory: string, signal: AbortSignal, { known, only }: ListOptions = {}): Promise<Listing> {
  const listing: Listing = { entries: new Map(), linked: new Set(), faults: [], real_path: undefined, identity: undefined }
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
    fault(`the skills directory can't be read: ${systemMessage(error)}`)
    return listing
  }
  if (names.length > entriesMax) {
    names.length = entriesMax
    fault(`the skills directory has more than ${entriesMax} entries; those beyond are not looked at`)
  }
  const looked = await mapAtMost(readingMax, names.sort(), async name => {
    signal.throwIfAborted()
    return known !== undefined && known.listing.entries.has(name) && !known.changed.has(name) ? known.listing.entries.get(name) : await look(directory, name)
  })
  for (const [i, name] of names.entries()) listing.entries.set(name, looked[i])
  refuseTwins(listing.entries)
  return listing
}

/** Of several folders whose names come to the same, the one that has that name is the skill, or the first. */
function refuseTwins (entries: Map<string, Looked>): void {
  const first = new Map<string, string>()
  for (const [entry, looked] of entries) {
    if (looked === undefined || 'error' in looked) continue
    const other = first.get(looked.name)
    const [skill, twin] = other === undefined || entry === looked.name ? [entry, other] : [other, entry]
    first.set(looked.name, skill)
    const refused = twin === undefined ? undefined : entries.get(twin)
    if (twin !== undefined && refused !== undefined) entries.set(twin, { name: twin, path: refused.path, error: `the folder beside it, "${skill}", has the same name as a skill: "${looked.name}"` })
  }
}

async function look (directory: string, entry: string): Promise<Looked> {
  const path = join(directory, entry)
  try {
    const stats = await stat(path)
    if (!stats.isDirectory()) return undefined
    const files = new Set(await readdir(path))
    const module = MODULES.some(file => files.has(file))
    if (!module && !files.has(MANIFEST) && !INSTRUCTIONS.some(file => files.has(file))) return undefined
    const name = module || files.has(MANIFEST) ? entry : lenientName(entry)
    if (!SKILL_NAME.test(name)) return { name: entry, path, error: `the folder's name "${entry}" can't be a skill's: it must be 1 to 64 of a-z, 0-9 and -` }
    return { name, path, real_path: await realpath(path), identity: identityOf(stats), module, revision: await revisionOf(path, module, files) }
  } catch (error) {
    return { name: entry, path, error: `the folder can't be read: ${systemMessage(error)}` }
  }
}

/** What tells a directory from one that took its place: that may have been given the same number. */
export function identityOf ({ ino, birthtimeMs }: Stats): string {
  return `${ino} ${birthtimeMs}`
}

/** A skill's name for a folder that was made for other programs: `PDF_tools` is `pdf-tools`. */
function lenientName (entry: string): string {
  return entry.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 64)
}
