import { closest, distance } from 'fastest-levenshtein'

/** The known name nearest to a mistaken one, when near enough to be what was meant. */
export function nearest (mistaken: string, known: Iterable<string>): string | undefined {
  const names = [...known]
  if (names.length === 0 || mistaken.length > 100) return undefined
  const found = closest(mistaken, names)
  return distance(mistaken, found) <= Math.max(2, Math.floor(found.length / 3)) ? found : undefined
}

/** `; did you mean "…"?`, or nothing. */
export function didYouMean (mistaken: string, known: Iterable<string>): string {
  const found = nearest(mistaken, known)
  return found === undefined ? '' : `; did you mean "${found}"?`
}
