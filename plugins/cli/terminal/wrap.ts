import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * Words with the spaces before them. Chinese and Japanese are written without spaces: there every character is a
 * word, together with the marks and the punctuation that follow it.
 */
const words = / *(?:[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}][\p{M}\p{P}]*|[^ \p{scx=Han}\p{scx=Hira}\p{scx=Kana}]+|$)/gu

/** The number of terminal columns of a text: wide characters take two columns, combining characters none. */
export function displayWidth (text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text)
}

/** The number of columns of the longest word of a text. */
export function longestWord (text: string): number {
  return wordsOf(text).reduce((longest, word) => Math.max(longest, displayWidth(word.trimStart())), 0)
}

/**
 * Breaks a text between words; breaks a word only when it is wider than a whole line.
 * @param first columns that are left on the line where the text begins
 * @param rest columns of each further line, at least 1
 * @returns the lines; the first line is empty when no word fits on the line where the text begins
 */
export function wrap (text: string, first: number, rest: number): string[] {
  if (first === Infinity || displayWidth(text) <= first) return [text]
  const lines: string[] = []
  let line = ''
  let used = 0
  let room = first
  const breakLine = (): void => {
    lines.push(line.trimEnd())
    line = ''
    used = 0
    room = rest
  }
  const add = (part: string, width: number): void => {
    line += part
    used += width
  }
  for (const spaced of wordsOf(text)) {
    const width = displayWidth(spaced)
    if (used + width <= room) {
      add(spaced, width)
      continue
    }
    if (line !== '' || room < rest) breakLine()
    const word = spaced.trimStart()
    for (const part of displayWidth(word) <= room
      ? [word]
      : Array.from(graphemes.segment(word), ({ segment }) => segment)) {
      const width = displayWidth(part)
      if (line !== '' && used + width > room) breakLine()
      add(part, width)
    }
  }
  if (line !== '') breakLine()
  return lines
}

function wordsOf (text: string): string[] {
  return text.match(words) ?? []
}
