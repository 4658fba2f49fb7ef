/** The maximum number of sentences. A query may ask for several things, so each sentence is also compared by itself. */
export const sentencesMax = 8

/** The number of sentences at the end of a long text that stay separate. */
const lastMax = 3

/** The sentences of a text, in order; none when there is only one. In a long text, the middle ones become one. */
export function sentencesOf (text: string): string[] {
  const sentences = text.split(/(?<=[.!?;])\s+|(?<=[。！？；])|\n+/)
    .map(sentence => sentence.trim())
    .filter(sentence => sentence !== '')
  if (sentences.length < 2) return []
  if (sentences.length <= sentencesMax) return sentences
  const first = sentencesMax - lastMax - 1
  return [...sentences.slice(0, first), sentences.slice(first, -lastMax).join(' '), ...sentences.slice(-lastMax)]
}
