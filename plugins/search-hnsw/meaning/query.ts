/**
 * The length of the beginning and of the end of a long query that are kept, in characters. Together they must fit into
 * the model's 256 tokens; in logs, a token has little more than two characters.
 */
const endCharacters = 300

/**
 * The part of a query that is searched: a short query as a whole; of a long query the beginning and the end, since
 * people and agents write there what they want to do with a pasted text. If possible, it is cut between words.
 */
export function essenceOf (query: string): string {
  if (query.length <= 2 * endCharacters) return query
  const beginning = query.slice(0, endCharacters).replace(/\s\S*$/, '')
  const end = query.slice(-endCharacters).replace(/^\S*\s/, '')
  return `${beginning}\n${end}`
}
