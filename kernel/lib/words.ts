/** The characters of a word that are compared: of longer ones, such as encoded data, the beginning. */
export const wordCharactersMax = 40

const word = /[\p{L}\p{M}\p{N}]+/gu
const plainWord = /[a-z0-9]+/g
const plain = /^[\0-\x7f]*$/
/** Scripts that put no spaces between words. */
const unspacedScripts = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
const unspaced = new RegExp(`[${unspacedScripts.map(script => `\\p{Script=${script}}`).join('')}]+`, 'gu')
/** The accents of Latin, Greek and Cyrillic letters. */
const accents = /[\u0300-\u036f]/g

/**
 * The words of a text as they are compared: without case, accents and signs. Scripts that put no spaces between words
 * give each pair of neighbouring characters, and the last character.
 */
export function * wordsOf (text: string): Generator<string, void, undefined> {
  if (plain.test(text)) {
    for (const [found] of text.toLowerCase().matchAll(plainWord)) yield found.slice(0, wordCharactersMax)
    return
  }
  for (const { characters, isUnspaced } of runsOf(text)) {
    if (!isUnspaced) yield cut(characters)
    else yield * pairsOf(characters, true)
  }
}

/** A word that a text must have; with `isPrefix`, it must have a word that begins so. */
export interface SoughtWord {
  readonly word: string
  readonly isPrefix: boolean
}

/** The words that a text must have, each once, to be found by a query. A word with an asterisk is a beginning. */
export function soughtWords (query: string): SoughtWord[] {
  const found = new Map<string, SoughtWord>()
  for (const { characters, isUnspaced, isStarred } of runsOf(query)) {
    const words = isUnspaced ? [...pairsOf(characters, false)] : [cut(characters)]
    const isPrefix = isUnspaced ? [...characters].length === 1 : isStarred && characters.length <= wordCharactersMax
    for (const word of words) found.set(`${word}${isPrefix ? '*' : ''}`, { word, isPrefix })
  }
  return [...found.values()]
}

/** Whether a set of words has all the words of a query. */
export function hasAll (words: ReadonlySet<string>, sought: readonly SoughtWord[]): boolean {
  return sought.every(({ word, isPrefix }) => words.has(word) || (isPrefix && hasBeginning(words, word)))
}

function hasBeginning (words: Iterable<string>, beginning: string): boolean {
  for (const word of words) if (word.startsWith(beginning)) return true
  return false
}

/** Letters and digits without a sign between them, all of scripts with or all of scripts without spaces. */
interface Run { characters: string, isUnspaced: boolean, isStarred: boolean }

function * runsOf (text: string): Generator<Run, void, undefined> {
  // Composed again: Korean syllables would be taken apart otherwise.
  const folded = text.normalize('NFKD').replace(accents, '').normalize('NFC').toLowerCase()
  for (const { 0: characters, index } of folded.matchAll(word)) {
    let end = 0
    const isStarred = folded[index + characters.length] === '*'
    for (const { 0: run, index: begin } of characters.matchAll(unspaced)) {
      if (begin > end) yield { characters: characters.slice(end, begin), isUnspaced: false, isStarred: false }
      yield { characters: run, isUnspaced: true, isStarred: false }
      end = begin + run.length
    }
    if (end < characters.length) yield { characters: characters.slice(end), isUnspaced: false, isStarred }
  }
}

function * pairsOf (characters: string, withLast: boolean): Generator<string, void, undefined> {
  let before = ''
  for (const character of characters) {
    if (before !== '') yield before + character
    before = character
  }
  // A query of one character finds the pairs that begin with it, and the last character.
  if (withLast || before === characters) yield before
}

/** Half of a pair of surrogates would not survive a file. */
function cut (word: string): string {
  if (word.length <= wordCharactersMax) return word
  const part = word.slice(0, wordCharactersMax)
  return part.isWellFormed() ? part : part.slice(0, -1)
}
