import type { RE2JS } from 're2js'

/** The longest result, in characters: a short text and replacement can make a very long one. */
export const resultMax = 8_000_000

export interface Replacement {
  find: string
  replacement: string
  pattern: boolean
  ignore_case: boolean
  first_only: boolean
}

/**
 * Replaces a literal text or an RE2 pattern, which matches in linear time whatever it is. In a pattern's replacement,
 * `$1` and `${name}` stand for groups and `$$` for a dollar sign.
 * @throws Error saying what is wrong with the pattern or replacement, or that the result is too long
 */
export async function replace (
  text: string,
  { find, replacement, pattern, ignore_case, first_only }: Replacement
): Promise<{ text: string, count: number }> {
  const matcher = (await compile(find, { pattern, ignore_case })).matcher(text)
  const pieces = pattern ? template(replacement) : [replacement]
  let result = ''
  let end = 0
  let count = 0
  const append = (piece: string): void => {
    result += piece
    if (result.length > resultMax) throw new Error(`the result is longer than ${resultMax} characters`)
  }
  while (matcher.find()) {
    append(text.slice(end, matcher.start()))
    for (const piece of pieces) append(typeof piece === 'string' ? piece : matcher.group(piece.group) ?? '')
    end = matcher.end()
    count++
    if (first_only) break
  }
  append(text.slice(end))
  return { text: result, count }
}

/** The library is loaded when it is needed: that takes longer than most tools of this skill. */
async function compile (
  find: string,
  { pattern, ignore_case }: Pick<Replacement, 'pattern' | 'ignore_case'>
): Promise<RE2JS> {
  const { RE2JS } = await import('re2js')
  try {
    return RE2JS.compile(
      pattern ? find : RE2JS.quote(find),
      RE2JS.MULTILINE | (ignore_case ? RE2JS.CASE_INSENSITIVE : 0)
    )
  } catch (error) {
    throw new Error(`the pattern can't be used (RE2 syntax, without lookaround and backreferences): ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

function template (replacement: string): (string | { group: number | string })[] {
  const pieces: (string | { group: number | string })[] = []
  let end = 0
  for (const match of replacement.matchAll(/\$(?:(\$)|(\d{1,2})|\{([A-Za-z_]\w*)\})?/g)) {
    const [whole, dollar, number, name] = match
    if (whole === '$') {
      throw new Error('in the replacement, "$" is followed by "$", the number of a group or its {name}')
    }
    pieces.push(replacement.slice(end, match.index), dollar
      ?? { group: number === undefined ? name ?? '' : Number(number) })
    end = match.index + whole.length
  }
  return [...pieces, replacement.slice(end)]
}
