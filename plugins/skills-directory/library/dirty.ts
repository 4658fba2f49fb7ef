import type { Place } from '../listing/places.ts'

/** The entries that may have changed: places and names in them. */
export type Dirty = ReadonlyMap<Place, ReadonlySet<string>>

/** Adds an entry to those that may have changed. */
export function mark (dirty: Map<Place, Set<string>>, place: Place, name: string): void {
  const names = dirty.get(place)
  if (names === undefined) dirty.set(place, new Set([name]))
  else names.add(name)
}
