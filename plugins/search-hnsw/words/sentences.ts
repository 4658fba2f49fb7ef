/** A query of several sentences often asks for several things; each is compared on its own too. */
export const sentencesMax = 8

/** How many of the last sentences of a long text stand for themselves. */
const lastMax = 3

/** The sentences of a text, in order, or none where there is only one. Of a long text those in the middle are one. */
export function sentencesOf (text: string): string[] {
  const sentences = text.split(/(?<=[.!?;])\s+|(?<=[。！？；])|\n+/)
    .map(sentence => sentence.trim())
    .filter(sentence => sentence !== '')
  if (sentences.length < 2) return []
  if (sentences.length <= sentencesMax) return sentences
  const first = sentencesMax - lastMax - 1
  return [...sentences.slice(0, first), sentences.slice(first, -lastMax).join(' '), ...sentences.slice(-lastMax)]
}
