/**
 * How much of each end of a long query counts, in characters: together no more than the model reads, which is 256
 * tokens. Of logs, a token is little more than two characters.
 */
const endCharacters = 300

/**
 * The part of a query that is searched for: all of a short one, the beginning and the end of a long one, where people
 * and agents say what they want of a text that they paste. Cut between words where there are any.
 */
export function essenceOf (query: string): string {
  if (query.length <= 2 * endCharacters) return query
  const beginning = query.slice(0, endCharacters).replace(/\s\S*$/, '')
  const end = query.slice(-endCharacters).replace(/^\S*\s/, '')
  return `${beginning}\n${end}`
}
