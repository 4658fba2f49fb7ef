import { Type, type Static } from 'typebox'
import { patternMax, schemas, SkilletError, type Selections } from '../../../kernel/index.ts'

/** How much of an output an agent gets that asks for no more, in characters. */
const usualMax = 20_000

/** The part of an output that the agent wants. */
export type ExcerptWanted = Static<typeof ExcerptWanted>
export const ExcerptWanted = Type.Object({
  max_output: Type.Integer({
    minimum: 200, maximum: 1_000_000, default: usualMax, description: 'Most characters of output'
  }),
  truncate: schemas.Choice(['head', 'tail', 'middle'], {
    default: 'head',
    description: 'Part to keep when longer; middle: both ends'
  }),
  grep: Type.Optional(Type.String({ maxLength: patternMax, description: 'Keep lines that match this RE2 pattern' })),
  jmespath: Type.Optional(Type.String({ maxLength: 1_000, description: 'Query of JSON output; applied before grep' }))
})

/** The part of an output that an agent gets without any wish. */
export const usualExcerpt: ExcerptWanted = { max_output: usualMax, truncate: 'head' }

export interface Excerpt {
  output: string
  /** A note about the parts that were left out, or the options that could not be applied; absent for a whole output. */
  note?: string
}

/**
 * Refuses options that can't be applied, before the tool runs: otherwise the tool would run in vain.
 * @throws SkilletError INVALID_PARAMETERS
 */
export async function checkExcerpt (
  { grep, jmespath }: Partial<ExcerptWanted>,
  selections: Pick<Selections, 'select'>
): Promise<void> {
  if (grep === undefined && jmespath === undefined) return
  const checked = await selections.select({
    ...(grep !== undefined && { grep }), ...(jmespath !== undefined && { jmespath })
  })
  if ('invalid' in checked) throw new SkilletError('INVALID_PARAMETERS', checked.invalid)
}

/**
 * Takes the wanted part of an output. Never rejects because of the output: an option that can't be applied is skipped,
 * with a note.
 */
export async function excerpt (
  text: string,
  { max_output, truncate, grep, jmespath }: ExcerptWanted,
  selections: Pick<Selections, 'select'>
): Promise<Excerpt> {
  const notes: string[] = []
  let chosen = text
  if (grep !== undefined || jmespath !== undefined) {
    const selection = await selections.select({
      text, ...(grep !== undefined && { grep }), ...(jmespath !== undefined && { jmespath })
    })
    if (!('text' in selection)) notes.push('failure' in selection ? selection.failure : selection.invalid)
    else {
      chosen = selection.text
      notes.push(`selected ${chosen.length} of ${text.length} characters`)
    }
  }
  const output = cut(chosen, max_output, truncate)
  if (output.length < chosen.length) {
    notes.push(
      `${truncate === 'middle' ? 'both ends' : `the ${truncate}`} of ${chosen.length} characters, cut to ${max_output}`
    )
  }
  return notes.length === 0 ? { output } : { output, note: notes.join('; ') }
}

/** Cuts a text to a number of characters, including the mark at the cut; never within a surrogate pair. */
export function cut (text: string, max: number, part: ExcerptWanted['truncate']): string {
  if (text.length <= max) return text
  const room = max - 64 // the mark is shorter
  const head = part === 'tail' ? 0 : part === 'head' ? room : Math.ceil(room / 2)
  const tail = room - head
  const from = isPairAt(text, text.length - tail) ? text.length - tail + 1 : text.length - tail
  const to = isPairAt(text, head) ? head - 1 : head
  const mark = `[… ${(part === 'head' ? text.length : from) - to} characters left out …]`
  return [text.slice(0, to), mark, part === 'head' ? '' : text.slice(from)].filter(piece => piece !== '').join('\n')
}

/** Whether a cut before this index would split a surrogate pair. */
function isPairAt (text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1)
  const after = text.charCodeAt(index)
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000
}
