import { Type } from 'typebox'
import { SkilletError } from '../lib/errors.ts'
import { soughtWords, type SoughtWord } from '../lib/words.ts'

/** The words that a query may have. */
const wordsMax = 32
/** The characters of a beginning: a shorter one would stand for a large part of all words. */
const beginningMin = 3

export const SearchedText = Type.String({
  minLength: 1, maxLength: 1_000,
  description: 'Only executions that have all of these words in their skill, tool, parameters, output or error. `time*` stands for all words that begin with `time`; other signs only separate words'
})

/**
 * The words of a query.
 * @throws SkilletError INVALID_PARAMETERS when it has no words, too many, or too short a beginning
 */
export function soughtIn (text: string): SoughtWord[] {
  const words = soughtWords(text)
  if (words.length === 0) throw invalid('must have a letter or a digit: other signs are not searched')
  if (words.length > wordsMax) throw invalid(`has ${words.length} different words; give ${wordsMax} at most`)
  const short = words.find(({ word, isPrefix }) => isPrefix && /^[a-z0-9]*$/.test(word) && word.length < beginningMin)
  if (short !== undefined) throw invalid(`has "${short.word}*"; give ${beginningMin} characters before the asterisk at least`)
  return words
}

function invalid (fault: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', `text ${fault}`)
}
