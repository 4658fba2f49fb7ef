import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { SKILL_NAME } from '../../../kernel/index.ts'
import { isSkill, lenientName } from '../../toolkit/skill-folder.ts'

/** How deep skills are looked for, and in how many folders. */
const limits = { depth: 4, folders: 10_000 }

/** A skill among the files of a source. */
export interface FoundSkill {
  name: string
  /** Its folder, relative to the files of the source; empty when they are one skill. */
  path: string
}

/**
 * The skills in a folder: the folder itself, or those below it, in the order of their paths. Hidden folders but
 * `.claude` are passed over.
 * @param name the name of the folder itself, if it is a skill
 */
export async function skillsIn (folder: string, name: string): Promise<FoundSkill[]> {
  const found: FoundSkill[] = []
  let left = limits.folders
  const look = async (at: string, depth: number): Promise<void> => {
    if (left-- <= 0) return
    const entries = await readdir(at, { withFileTypes: true })
    if (isSkill(new Set(entries.map(entry => entry.name)))) {
      found.push({ name: nameOf(at === folder ? name : basename(at)), path: relative(folder, at) })
      return
    }
    if (depth >= limits.depth) return
    const below = entries.filter(entry => entry.isDirectory() && !isPassedOver(entry.name)).map(entry => entry.name)
    for (const entry of below.sort()) await look(join(at, entry), depth + 1)
  }
  await look(folder, 0)
  return found
}

/** A name that a skill can have. */
function nameOf (text: string): string {
  return SKILL_NAME.test(text) ? text : lenientName(text)
}

function isPassedOver (name: string): boolean {
  return name === 'node_modules' || (name.startsWith('.') && name !== '.claude')
}
