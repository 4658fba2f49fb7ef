/**
 * Words of texts and identifiers, as they are indexed and looked for: lower case, without diacritics, identifiers split,
 * endings of grammar cut off.
 */

/** A word as it stood, with its parts where it is an identifier: `getWeather` → `getweather`, [`get`, `weather`]. */
export interface Word { whole: string, parts: string[] }

/** Scripts that are written without spaces; pairs of characters stand for their words. */
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+$/u
/** Letters and digits, joined by the signs that identifiers are made with. */
const run = /[\p{L}\p{N}]+(?:[_\-.:/][\p{L}\p{N}]+)*/gu
const piece = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|[\p{Lo}\p{Lm}\p{Lt}]+|\p{N}+/gu

/** Words that tell nothing about what is wanted, in questions and descriptions alike. */
const empty = new Set((
  'a an and are as at be by can could do does for from give has have help how i in into is it its let like may me my need of on or our ' +
  'out please should so some that the their them then there these this to us use using want was we what when where which will with would you your'
).split(' '))

/** The words of a text, in order. With `keepEmpty`, those that tell nothing too. */
export function wordsOf (text: string, keepEmpty = false): Word[] {
  const words: Word[] = []
  for (const [match] of text.normalize('NFKD').replace(/\p{M}+/gu, '').matchAll(run)) {
    const parts = (match.match(piece) ?? []).flatMap(part => unspaced.test(part) ? pairs(part) : [stem(part.toLowerCase())])
    const kept = keepEmpty || parts.length > 1 ? parts : parts.filter((_, i) => !empty.has(match.toLowerCase()) || i > 0)
    if (kept.length > 0) words.push({ whole: stem(match.toLowerCase().replace(/[_\-.:/]/g, '')), parts: kept })
  }
  return words
}

/** All terms that a text is found by. */
export function termsOf (text: string): string[] {
  return wordsOf(text).flatMap(({ whole, parts }) => parts.length > 1 ? [whole, ...parts] : parts)
}

function pairs (text: string): string[] {
  const characters = [...text]
  return characters.length < 2 ? characters : characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

/**
 * Cuts the commonest English endings off, so that `branches`, `committed` and `hashing` meet `branch`, `commit` and
 * `hash`. What is left need not be a word: it only has to be the same for both.
 */
export function stem (word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  let stem = word
  if (stem.endsWith('ies') && stem.length > 4) stem = `${stem.slice(0, -3)}y`
  else if (/(?:[sxz]|[cs]h)es$/.test(stem)) stem = stem.slice(0, -2)
  else if (stem.endsWith('s') && !/(?:ss|us|is)$/.test(stem)) stem = stem.slice(0, -1)
  const [, root] = /^(.*[aeiouy].*)(?:ing|ed)$/.exec(stem) ?? []
  if (root !== undefined && root.length > 2) stem = /([^aeiouylsz])\1$/.test(root) ? root.slice(0, -1) : root
  if (stem.length > 4 && stem.endsWith('e')) stem = stem.slice(0, -1)
  return stem
}
