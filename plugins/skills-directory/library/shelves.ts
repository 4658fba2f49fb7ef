import { isDeepStrictEqual } from 'node:util'
import type { LoadedSkills, QuarantinedSkill } from '../../../kernel/index.ts'
import type { Listing } from '../listing/list.ts'
import type { Place } from '../listing/places.ts'
import { asJudged, trustKind } from '../trust/verdict.ts'
import { nameOf, unread, type Entry } from './entry.ts'

/** The skills directory of a place, with its last listing. */
export interface Shelf { place: Place, listing: Listing, entries: Map<string, Entry> }

/** An entry that no later entry of the same name shadows. */
export interface Winner { entry: Entry, shelf: Shelf }

/** An earlier shelf that continues to serve, while its directory can't be read. */
export function keptShelf (shelf: Shelf, { faults, unreadable }: Listing): Shelf {
  return { ...shelf, listing: { ...shelf.listing, faults, unreadable } }
}

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
export function combine (shelves: readonly Shelf[]): Required<LoadedSkills> {
  const loaded: Required<LoadedSkills> = { skills: [], quarantined: [], warnings: [] }
  for (const { place, listing } of shelves) {
    if (listing.real_path !== undefined || place.named) loaded.quarantined.push(...listing.faults)
  }
  for (const { entry } of winnersOf(shelves)) {
    const { good, reported, verdict } = entry
    const kind = verdict === undefined ? undefined : trustKind(verdict)
    const about = {
      name: nameOf(entry) ?? '',
      path: entry.looked?.path ?? good?.skill.directory ?? '',
      ...(kind !== undefined && { trust: kind })
    }
    if (verdict?.quarantined === true) {
      loaded.quarantined.push({ ...about, error: verdict.text ?? '' })
      continue
    }
    const serves = ({ tool }: QuarantinedSkill): boolean => {
      return good !== undefined && (tool === undefined || good.skill.tools.some(({ name }) => name === tool))
    }
    loaded.quarantined.push(...reported.map(fault => ({ ...fault, ...(serves(fault) && { serving: true }) })))
    if (good === undefined) continue
    loaded.quarantined.push(...good.broken.filter(({ tool }) => !reported.some(fault => fault.tool === tool)))
    loaded.skills.push(verdict === undefined ? good.skill : asJudged(good.skill, verdict))
    loaded.warnings.push(...good.warnings)
    if (verdict?.reason === 'changed') loaded.warnings.push({ ...about, warning: verdict.text ?? '' })
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

/**
 * The entries that depend on files elsewhere which may be missing, or replaced as a whole, so that they can't be
 * watched: those with a fault that such files may mend, and MCP servers, whose tools are in such a file.
 */
export function unwatchableIn (shelves: readonly Shelf[]): { place: Place, name: string, entry: Entry }[] {
  return shelves.flatMap(({ place, entries }) => [...entries].flatMap(([name, entry]) => {
    const depends = entry.fault !== undefined || entry.version?.skill.runtime === 'mcp'
    return depends && entry.key !== unread && entry.outside.length > 0 ? [{ place, name, entry }] : []
  }))
}
