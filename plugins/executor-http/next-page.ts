import { isObject } from '../../kernel/index.ts'
import type { Reply } from '../toolkit/net/request.ts'
import type { Target } from '../toolkit/openapi/target.ts'
import { isSameHost } from './exchange.ts'

/** The fields in which answers have the address of the next page, and in which they have a token for it. */
const addresses = ['next', 'next_url', 'nextUrl', 'next_page_url', '@odata.nextLink', 'nextLink']
const tokenFields = [
  'next_cursor', 'nextCursor', 'next_page_token', 'nextPageToken', 'next_token', 'nextToken', 'continuation_token',
  'cursor', 'after'
]
/** The objects in which these fields may be. */
const holders = [
  'links', '_links', 'next', 'paging', 'cursors', 'pagination', 'meta', 'metadata', 'response_metadata', 'page_info',
  'pageInfo'
]
const depthMax = 3

/**
 * The address of the page after this one: by the header `Link`, by a link or a token in the answer, or by its number.
 * @returns undefined when there is none, or when it is elsewhere
 */
export function nextPage (
  url: URL, { headers }: Reply, answer: unknown, pages: NonNullable<Target['pages']>
): URL | undefined {
  const link = linkOf(headers['link'] ?? '') ?? find(answer, addresses, isAddress)
  const next = link === undefined ? byParameter(url, answer, pages) : new URL(link, url)
  if (next === undefined || !isSameHost(url, next) || next.href === url.href) return undefined
  return next.username === '' && next.password === '' ? next : undefined
}

function linkOf (header: string): string | undefined {
  for (const part of header.split(/,(?=\s*<)/)) {
    const [, address, parameters = ''] = /^\s*<([^<>]*)>(.*)$/s.exec(part) ?? []
    const isNext = /;\s*rel\s*=\s*"?(?:[^";]* )?next\b/i.test(parameters)
    if (address !== undefined && isNext && isAddress(address)) return address
  }
  return undefined
}

function isAddress (text: string): boolean {
  return /^(https?:\/\/|\/|\?)/.test(text) && URL.canParse(text, 'http://x')
}

function byParameter (url: URL, answer: unknown, { token, number }: NonNullable<Target['pages']>): URL | undefined {
  const next = new URL(url)
  const given = token === undefined ? undefined : find(answer, tokenFields, text => text !== '')
  if (token !== undefined && given !== undefined) next.searchParams.set(token, given)
  else if (number !== undefined && Array.isArray(answer) && answer.length > 0) {
    const page = Number(url.searchParams.get(number) ?? 1)
    if (!Number.isSafeInteger(page)) return undefined
    next.searchParams.set(number, String(page + 1))
  } else return undefined
  return next
}

function find (
  answer: unknown, names: readonly string[], fits: (text: string) => boolean, depth = 0
): string | undefined {
  if (!isObject(answer) || depth > depthMax) return undefined
  for (const name of names) {
    const value = Object.hasOwn(answer, name) ? answer[name] : undefined
    if (typeof value === 'string' && fits(value)) return value
  }
  for (const holder of holders) {
    const inner = Object.hasOwn(answer, holder) ? answer[holder] : undefined
    const href = holder === 'next' && isObject(inner) ? inner['href'] : undefined
    if (typeof href === 'string' && fits(href)) return href
    const found = find(inner, names, fits, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
