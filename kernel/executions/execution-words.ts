import type { Execution } from '../contracts/schemas.ts'
import { isObject } from '../lib/json.ts'
import { wordsOf } from '../lib/words.ts'

/** The different words of an execution that can be found, and the characters in which they are looked for. */
export const executionWordLimits = { words: 1_000, characters: 262_144 } as const

/**
 * The words by which an execution is found: of its skill, its tool, its error, its parameters and its output, in this
 * order, up to the limits. Parameters are without secret values already.
 */
export function executionWords (execution: Execution): Set<string> {
  const { skill_name, tool_name, error, parameters, output } = execution
  const words = new Set<string>()
  let characters: number = executionWordLimits.characters
  const failure = error === null ? [] : [error.code, error.message, error.details]
  for (const text of textsIn([skill_name, tool_name, failure, parameters, dataOf(output)])) {
    for (const word of wordsOf(text.slice(0, characters))) {
      if (words.size >= executionWordLimits.words) return words
      words.add(word)
    }
    characters -= text.length
    if (characters <= 0) break
  }
  return words
}

/** The depth of the values that are looked at: as deep as parameters may be, and a little more. */
const depthMax = 100

/** All texts and numbers in a value, and the names of its fields, in order. */
function * textsIn (value: unknown, depth = depthMax): Generator<string, void, undefined> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'number') yield String(value)
  else if (depth === 0) return
  else if (Array.isArray(value)) for (const item of value) yield * textsIn(item, depth - 1)
  else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      yield name
      yield * textsIn(item, depth - 1)
    }
  }
}

/** The value of an output that is JSON: the text would have `\n` before a word, whose first letter seemed to be n. */
function dataOf (output: string): unknown {
  if (!/^\s*[[{"]/.test(output) || output.length > executionWordLimits.characters) return output
  try {
    return JSON.parse(output)
  } catch {
    return output
  }
}
