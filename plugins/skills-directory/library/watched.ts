import type { Listing } from '../listing/list.ts'
import type { Place } from '../listing/places.ts'
import type { SkillTrust } from '../trust/skill-trust.ts'
import type { Entry } from './entry.ts'
import type { Shelf } from './shelves.ts'

/** A place, as it is to be watched. */
export interface WatchedShelf {
  place: Place
  listing: Listing
  /** The files outside of an entry that matter to it. */
  outside: (name: string) => readonly string[]
  /** Whether every file of an entry matters. */
  whole: (name: string) => boolean
}

/** The shelves, as they are to be watched: every file of a folder that the trust file names matters. */
export function watchedShelves (shelves: readonly Shelf[], trust: SkillTrust): WatchedShelf[] {
  return shelves.map(({ place, listing, entries }): WatchedShelf => ({
    place,
    listing,
    outside: name => {
      const entry = entries.get(name)
      const behind = entry?.looked !== undefined && 'real_path' in entry.looked ? trust.behindLinks(entry.looked) : []
      return [...outsideOf(entry), ...behind]
    },
    whole: name => {
      const looked = entries.get(name)?.looked
      return looked !== undefined && 'real_path' in looked && !place.bundled && trust.isNamed(looked)
    }
  }))
}

function outsideOf (entry: Entry | undefined): readonly string[] {
  return entry?.version?.outside ?? entry?.good?.outside ?? []
}
