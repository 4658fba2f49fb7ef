/** Words of a text, as the cases of identifiers need them: split at signs and where lower case turns to upper. */
export function words (text: string): string[] {
  return text.match(/\p{Lu}+(?![\p{Ll}\p{M}])|[\p{Lu}\p{Lt}]?[\p{Ll}\p{M}]+|[\p{Lo}\p{Lm}\p{M}]+|\p{Lu}|\p{N}+/gu) ?? []
}

function capitalize (word: string): string {
  const [first = '', ...rest] = word
  return first.toUpperCase() + rest.join('').toLowerCase()
}

/** Each line is an identifier of its own. */
const joined = (make: (words: string[]) => string) =>
  (text: string): string => text.split('\n').map(line => make(words(line))).join('\n')

/** Every case, by name. */
export const cases = {
  upper: (text: string) => text.toUpperCase(),
  lower: (text: string) => text.toLowerCase(),
  title: (text: string) => text.replace(/[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*/gu, capitalize),
  sentence: (text: string) =>
    text.toLowerCase()
      .replace(/(^|[.!?]\s+)(\p{L})/gu, (_, before: string, letter: string) => before + letter.toUpperCase()),
  camel: joined(words => words.map((word, i) => i === 0 ? word.toLowerCase() : capitalize(word)).join('')),
  pascal: joined(words => words.map(capitalize).join('')),
  snake: joined(words => words.join('_').toLowerCase()),
  constant: joined(words => words.join('_').toUpperCase()),
  kebab: joined(words => words.join('-').toLowerCase())
}

/** Letters that decomposition does not turn into plain ones. */
const plain: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', þ: 'th', ð: 'd', ı: 'i' }

/**
 * A text as a part of a URL or a file name: lower-case letters without accents and digits, joined by hyphens, cut at a
 * word.
 */
export function slug (text: string, longest: number): string {
  const whole = text.toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[ßæœøđłþðı]/g, letter => plain[letter] ?? letter)
    .replace(/['’]/g, '').replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '')
  if (whole.length <= longest) return whole
  const cut = whole.slice(0, longest + 1)
  return cut.lastIndexOf('-') > 0 ? cut.slice(0, cut.lastIndexOf('-')) : whole.slice(0, longest)
}
