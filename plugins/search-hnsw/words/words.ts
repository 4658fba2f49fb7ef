import { stemmer } from 'stemmer'

/**
 * The words of texts and identifiers, in the form in which they are indexed and searched: in lower case, without
 * diacritics, stemmed, and with identifiers split into their parts.
 */

/** A whole word, and its parts if it is an identifier: `getWeather` → `getweather`, [`get`, `weather`]. */
export interface Word { whole: string, parts: string[] }

/** Scripts that are written without spaces; pairs of characters are used as their words. */
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+$/u
/** Letters and digits, joined by the signs that occur in identifiers. */
const run = /[\p{L}\p{N}]+(?:[_\-.:/][\p{L}\p{N}]+)*/gu
const piece = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|[\p{Lo}\p{Lm}\p{Lt}]+|\p{N}+/gu

/** Stop words: they say nothing about a tool, in a query or in a description. */
const empty = new Set((
  'a an and are as at be by can could do does for from give has have help how i in into is it its let like may me my need of on or our ' +
  'out please should so some that the their them then there these this to us use using want was we what when where which will with would you your'
).split(' '))

/** The words of a text, in order. With `keepEmpty`, stop words too. */
export function wordsOf (text: string, keepEmpty = false): Word[] {
  const words: Word[] = []
  for (const [match] of text.normalize('NFKD').replace(/\p{M}+/gu, '').matchAll(run)) {
    const parts = (match.match(piece) ?? []).flatMap(part =>
      unspaced.test(part) ? pairs(part) : [stem(part.toLowerCase())])
    const kept =
      keepEmpty || parts.length > 1 ? parts : parts.filter((_, i) => !empty.has(match.toLowerCase()) || i > 0)
    if (kept.length > 0) words.push({ whole: stem(match.toLowerCase().replace(/[_\-.:/]/g, '')), parts: kept })
  }
  return words
}

/** The words of a text without stop words, with identifiers split into their parts. */
export function termsOf (text: string): string[] {
  return wordsOf(text).flatMap(({ parts }) => parts)
}

function pairs (text: string): string[] {
  const characters = [...text]
  return characters.length < 2 ? characters : characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

/**
 * The stem of an English word; other words are not changed. A stem need not be a word: it only has to be the same for
 * the query and the text.
 */
export function stem (word: string): string {
  return /^[a-z]{3,}$/.test(word) ? stemmer(word) : word
}

/**
 * Whether two words differ by one typing error: a wrong, additional or missing character, or two neighbours swapped.
 */
export function isNear (a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a.charCodeAt(start) === b.charCodeAt(start)) start++
  let end = 0
  const rest = Math.min(a.length, b.length) - start
  while (end < rest && a.charCodeAt(a.length - 1 - end) === b.charCodeAt(b.length - 1 - end)) end++
  const different = Math.max(a.length, b.length) - start - end
  return different <= 1 || (different === 2 && a.length === b.length
    && a.charCodeAt(start) === b.charCodeAt(start + 1) && a.charCodeAt(start + 1) === b.charCodeAt(start))
}

/** An identifier as words separated by spaces: `getHTTPStatus_code` → `get HTTP Status code`. */
export function inWords (name: string): string {
  return name.replace(/([\p{Ll}\p{N}])(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 ').replace(/[_\-.]+/g, ' ').trim()
}

/** A name or query in lower case, with letters and digits only, so that different spellings of a name are equal. */
export function plain (name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}
