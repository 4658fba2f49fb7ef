import type { JsonObject } from '../../../kernel/index.ts'
import type { Inputs } from './inputs.ts'
import type { Operation } from './operations.ts'
import type { References } from './references.ts'
import type { Target, TargetParameter } from './target.ts'
import { objectAt } from './values.ts'

/** The most pages that one call fetches. */
export const pagesMax = 50

const tokens = new Set([
  'cursor', 'after', 'starting_after', 'page_token', 'pagetoken', 'next_token', 'nexttoken', 'continuation_token'
])

/** Adds a parameter for the number of pages, where a document says how the next page is asked for. */
export function addPages (
  { method, value }: Operation, parameters: readonly TargetParameter[], inputs: Inputs, references: References
): Target['pages'] {
  if (method !== 'get') return undefined
  const named = (fits: (name: string) => boolean): string | undefined =>
    parameters.find(({ in: place, name }) => place === 'query' && fits(name.toLowerCase()))?.name
  const token = named(name => tokens.has(name))
  const number = named(name => name === 'page')
  if (token === undefined && number === undefined && !saysNext(value, references)) return undefined
  const input = inputs.add('pages_max', 'pages', {
    schema: { type: 'integer', minimum: 1, maximum: pagesMax },
    description: 'How many pages are fetched, at most, and joined: 1 where absent', required: false
  })
  return { input, ...(token !== undefined && { token }), ...(number !== undefined && { number }) }
}

/** Whether its answers have a header `Link`, or a link to the next page. */
function saysNext (operation: JsonObject, references: References): boolean {
  return Object.entries(objectAt(operation, 'responses')).some(([status, response]) => {
    if (!status.startsWith('2')) return false
    try {
      const { headers, links } = references.follow(response)
      return [headers, links].some(named =>
        Object.keys(typeof named === 'object' && named !== null ? named : {}).some(name => /^(link|next)/i.test(name)))
    } catch {
      return false
    }
  })
}
