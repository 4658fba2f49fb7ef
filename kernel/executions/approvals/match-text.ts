/**
 * Whether a text fits a pattern, in which `*` stands for any characters. A regular expression could take very long with
 * several `*` and a text that a caller chose; this takes as long as both lengths multiplied, at most.
 */
export function matchesText (pattern: string, text: string): boolean {
  let at = 0
  let star = -1
  let from = 0
  let next = 0
  while (next < text.length) {
    if (pattern[at] === '*') {
      star = at++
      from = next
    } else if (at < pattern.length && pattern[at] === text[next]) {
      at++
      next++
    } else if (star >= 0) { // the last `*` takes one character more
      at = star + 1
      next = ++from
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
