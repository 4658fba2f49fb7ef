import { isDeepStrictEqual } from 'node:util'
import type { LoadedSkills, QuarantinedSkill } from '../../../kernel/index.ts'
import type { Listing } from '../listing/list.ts'
import type { Place } from '../listing/places.ts'
import { nameOf, type Entry } from './entry.ts'

/** The skills directory of a place, with its last listing. */
export interface Shelf { place: Place, listing: Listing, entries: Map<string, Entry> }

/** An entry that no later entry of the same name shadows. */
export interface Winner { entry: Entry, shelf: Shelf }

/** The entries that serve, are at fault or must be described first, without those that are shadowed. */
export function winnersOf (shelves: readonly Shelf[]): Winner[] {
  const winners = new Map<string, Winner>()
  for (const shelf of shelves) {
    for (const entry of shelf.entries.values()) {
      const name = nameOf(entry)
      if (name === undefined) continue
      winners.delete(name) // to keep the order: later places last
      winners.set(name, { entry, shelf })
    }
  }
  return [...winners.values()]
}

/** The skills of all shelves, with their faults and warnings. */
export function combine (shelves: readonly Shelf[]): LoadedSkills {
  const loaded: Required<LoadedSkills> = { skills: [], quarantined: [], warnings: [] }
  for (const { place, listing } of shelves) {
    if (listing.real_path !== undefined || place.named) loaded.quarantined.push(...listing.faults)
  }
  for (const { entry: { good, reported } } of winnersOf(shelves)) {
    const serves = ({ tool }: QuarantinedSkill): boolean => {
      return good !== undefined && (tool === undefined || good.skill.tools.some(({ name }) => name === tool))
    }
    loaded.quarantined.push(...reported.map(fault => ({ ...fault, ...(serves(fault) && { serving: true }) })))
    if (good === undefined) continue
    loaded.quarantined.push(...good.broken.filter(({ tool }) => !reported.some(fault => fault.tool === tool)))
    loaded.skills.push(good.skill)
    loaded.warnings.push(...good.warnings)
  }
  return loaded
}

/**
 * Whether the same skills are loaded. A skill that was described again counts as different; the kernel then compares
 * it.
 */
export function isSame (a: LoadedSkills, b: LoadedSkills): boolean {
  const { skills: skillsA, ...restA } = a
  const { skills: skillsB, ...restB } = b
  const sameSkills = skillsA.length === skillsB.length && skillsA.every((skill, i) => skill === skillsB[i])
  return sameSkills && isDeepStrictEqual(restA, restB)
}
