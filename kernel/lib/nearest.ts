import { closest, distance } from 'fastest-levenshtein'

/**
 * Finds the known name that a mistaken name probably means: the nearest known name, if the difference is small enough.
 * Otherwise the only known name of which the mistaken name is a short form (`args` for `arguments`) or a word (`unpack`
 * for `office_unpack`).
 */
export function nearest (mistaken: string, candidates: Iterable<string>): string | undefined {
  const names = [...candidates]
  if (names.length === 0 || mistaken.length > 100) return undefined
  const nearestName = closest(mistaken, names)
  if (distance(mistaken, nearestName) <= Math.max(2, Math.floor(nearestName.length / 3))) return nearestName
  const longer = names.filter(name => shortens(mistaken, name) || name.split(/[_.-]+/).includes(mistaken))
  return longer.length === 1 ? longer[0] : undefined
}

/** Whether `short` has the same first letter as `name`, and its other letters occur in `name` in the same order. */
function shortens (short: string, name: string): boolean {
  if (short.length < 3 || short.length >= name.length || short[0] !== name[0]) return false
  let at = 0
  for (const letter of name) if (letter === short[at]) at++
  return at === short.length
}

/** The text `; did you mean "…"?`, or an empty text when no known name is near. */
export function didYouMean (mistaken: string, candidates: Iterable<string>): string {
  const nearestName = nearest(mistaken, candidates)
  return nearestName === undefined ? '' : `; did you mean "${nearestName}"?`
}
