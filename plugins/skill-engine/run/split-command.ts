/**
 * The beginning of an output that is a command for the host to run. Behind it the adapter of a skill's code puts the
 * argument vector as JSON.
 */
export const commandMark = 'Command: '

/** Words that only a shell understands. */
const shellWords = new Set(['|', '||', '&', '&&', ';', '>', '>>', '<', '<<', '2>'])

/**
 * The words of a command that a skill wrote: at spaces, with quotes at the beginning of a word or behind `=`. Not the
 * rules of a shell, which get SQL wrong. What stands behind the first line end outside quotes is a note.
 * @throws Error naming a text that only a shell could run, or an open quote
 */
export function splitCommand (text: string): string[] {
  const words: string[] = []
  let at = 0
  while (at < text.length) {
    const sign = text[at] ?? ''
    if (isLineEnd(sign)) {
      if (words.length > 0) break
      at++
    } else if (isSpace(sign)) at++
    else {
      const { word, end } = readWord(text, at)
      words.push(word)
      at = end
    }
  }
  return words
}

/** Reads a word and the quoted parts in it. */
function readWord (text: string, start: number): { word: string, end: number } {
  let word = ''
  let plain = ''
  let at = start
  let quoted = false
  while (at < text.length && !isSpace(text[at] ?? '')) {
    const sign = text[at] ?? ''
    const opens = (sign === '"' || sign === "'") && (at === start || (text[at - 1] === '=' && plain.endsWith('=')))
    if (opens) {
      const part = readQuoted(text, at, sign)
      word += part.value
      plain = ''
      quoted = true
      at = part.end
    } else {
      word += sign
      plain += sign
      at++
    }
  }
  refuseShell(text.slice(start, at), plain, quoted)
  return { word, end: at }
}

/** Reads a quoted part, which ends at the end of its word. @param at the place of the quote that opens it */
function readQuoted (text: string, at: number, sign: string): { value: string, end: number } {
  let value = ''
  let inside = 0
  for (let i = at + 1; i < text.length; i++) {
    const escaped = sign === '"' ? '\\"' : "'\\''"
    if (text.startsWith(escaped, i)) {
      value += sign
      i += escaped.length - 1
      continue
    }
    if (text[i] === sign) {
      const next = text[i + 1]
      if ((next === undefined || isSpace(next)) && inside % 2 === 0) return { value, end: i + 1 }
      inside++
    }
    value += text[i] ?? ''
  }
  throw refused(text.slice(at), 'has a quote that nothing closes')
}

/** @param plain the unquoted text at the end of the word */
function refuseShell (whole: string, plain: string, quoted: boolean): void {
  if (!quoted && shellWords.has(whole)) throw refused(whole, 'is for a shell, and there is none')
  if (plain.endsWith(';')) throw refused(whole, 'ends a command for a shell, and there is none')
  if (/["']$/.test(plain)) throw refused(whole, 'ends in a quote that nothing opens')
  const bare = quoted ? whole.slice(0, whole.search(/["']/)) + plain : whole
  if (bare.includes('$(') || bare.includes('`')) throw refused(whole, 'is for a shell, and there is none')
}

function refused (text: string, why: string): Error {
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text
  return new Error(`the command of the tool can't be run: ${shown} ${why}`)
}

function isSpace (sign: string): boolean {
  return sign === ' ' || sign === '\t' || isLineEnd(sign)
}

function isLineEnd (sign: string): boolean {
  return sign === '\n' || sign === '\r'
}
