import { closest, distance } from 'fastest-levenshtein'

/**
 * The known name nearest to a mistaken one, when near enough to be what was meant; or the only one that it shortens, as
 * `args` does `arguments`, or of which it is a word, as `unpack` is of `office_unpack`.
 */
export function nearest (mistaken: string, known: Iterable<string>): string | undefined {
  const names = [...known]
  if (names.length === 0 || mistaken.length > 100) return undefined
  const found = closest(mistaken, names)
  if (distance(mistaken, found) <= Math.max(2, Math.floor(found.length / 3))) return found
  const longer = names.filter(name => shortens(mistaken, name) || name.split(/[_.-]+/).includes(mistaken))
  return longer.length === 1 ? longer[0] : undefined
}

/** Whether a name begins as another, and has of its further letters some, in their order. */
function shortens (short: string, name: string): boolean {
  if (short.length < 3 || short.length >= name.length || short[0] !== name[0]) return false
  let at = 0
  for (const letter of name) if (letter === short[at]) at++
  return at === short.length
}

/** `; did you mean "…"?`, or nothing. */
export function didYouMean (mistaken: string, known: Iterable<string>): string {
  const found = nearest(mistaken, known)
  return found === undefined ? '' : `; did you mean "${found}"?`
}
