import { existsSync, opendirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { SKILL_NAME } from '../../kernel/index.ts'
import { systemMessage } from './files.ts'
import type { Fault, Folder, Listing } from './protocol.ts'

/** The most entries of a directory that are looked at. */
export const entriesMax = 10_000

/** Modules that a script skill may consist of. */
export const MODULES = ['skill.js', 'skill.mjs', 'skill.ts'] as const
export const MANIFEST = 'skill.toml'

/** The skill folders of a directory, by name. A folder is one when it has a manifest or a module. Never throws. */
export function listSkills (directory: string): Listing {
  const listing: Listing = { folders: [], ignored: 0, faults: [], found: true }
  const fault = (path: string, error: string): void => { listing.faults.push({ name: basename(path), path, error }) }
  let names: string[]
  try {
    names = entriesOf(directory)
  } catch (error) {
    listing.found = existsSync(directory)
    fault(directory, `the skills directory can't be read: ${systemMessage(error)}`)
    return listing
  }
  if (names.length > entriesMax) {
    names.length = entriesMax
    fault(directory, `the skills directory has more than ${entriesMax} entries; those beyond are not looked at`)
  }
  for (const name of names.sort()) {
    const found = look(directory, name)
    if (found === undefined) listing.ignored++
    else if ('error' in found) listing.faults.push(found)
    else listing.folders.push(found)
  }
  return listing
}

/** At most one name more than is looked at. */
function entriesOf (directory: string): string[] {
  const names: string[] = []
  const handle = opendirSync(directory)
  try {
    for (let entry = handle.readSync(); entry !== null && names.length <= entriesMax; entry = handle.readSync()) {
      if (!entry.name.startsWith('.') && entry.name !== 'node_modules' && !entry.isFile()) names.push(entry.name)
    }
  } finally {
    handle.closeSync()
  }
  return names
}

function look (directory: string, name: string): Folder | Fault | undefined {
  const path = join(directory, name)
  try {
    if (!statSync(path).isDirectory()) return undefined
    const files = readdirSync(path)
    if (![MANIFEST, ...MODULES].some(file => files.includes(file))) return undefined
    if (!SKILL_NAME.test(name)) return { name, path, error: `the folder's name "${name}" can't be a skill's: it must be 1 to 64 of a-z, 0-9 and -` }
    return { name, path, real_path: realpathSync(path) }
  } catch (error) {
    return { name, path, error: `the folder can't be read: ${systemMessage(error)}` }
  }
}
