/** A query of several sentences often asks for several things; each is compared on its own too. */
export const sentencesMax = 8

/** The sentences of a text, in order, or none where there is only one. A long text's last part is what remains. */
export function sentencesOf (text: string): string[] {
  const sentences = text.split(/(?<=[.!?;])\s+|(?<=[。！？；])|\n+/).map(sentence => sentence.trim()).filter(sentence => sentence !== '')
  if (sentences.length < 2) return []
  return sentences.length <= sentencesMax ? sentences : [...sentences.slice(0, sentencesMax - 1), sentences.slice(sentencesMax - 1).join(' ')]
}
