import { realpath } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { Refusal } from './engine-skill.ts'

/** Which skills are trusted: those in certain directories. */
export class EngineTrust {
  readonly #directories: readonly string[]
  readonly #locked: boolean

  /** @param locked whether skills that are not trusted are kept from serving */
  constructor (directories: readonly string[], locked: boolean) {
    this.#directories = directories
    this.#locked = locked
  }

  /**
   * Whether the skill in a folder is trusted.
   * @throws Refusal when it is not, and so may not serve, nor may its code be run to describe it
   */
  async admit (folder: string): Promise<boolean> {
    const trusted = await isWithin(folder, this.#directories)
    if (trusted || !this.#locked) return trusted
    throw new Refusal(
      'not-trusted', folder,
      'skills.locked keeps it from serving: name its directory in plugin.skill-engine.trusted'
    )
  }
}

/** Whether a folder lies in one of these directories, links followed. */
async function isWithin (folder: string, directories: readonly string[]): Promise<boolean> {
  const real = await realpath(folder).catch(() => undefined)
  if (real === undefined) return false
  for (const directory of directories) {
    const place = await realpath(directory).catch(() => undefined)
    if (place === undefined) continue
    if (real === place || real.startsWith(place === dirname(place) ? place : `${place}${sep}`)) return true
  }
  return false
}
