import type { CheerioAPI } from 'cheerio'
import type { ToolContext } from '../../kernel/skill.ts'

/** The largest page that is read, in bytes; the rest of a larger one is left out. */
const pageBytesMax = 2_000_000

/**
 * How many elements may be open at once. Beyond, the parsers take the square of the length, and their stack has an end.
 */
const nestingMax = 1000
/** Elements that nothing closes, or that the next of their kind does. */
const unclosed = new Set('area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot colgroup option optgroup html head body rp rt'.split(' '))

/** White space that HTML keeps, in a length that nobody means: the converter takes the square of it. */
const blankRun = /(?:[\u00a0\u2000-\u200b\u3000]|&nbsp;|&#160;|&#xa0;){100,}/gi

/** What a tool was asked to look at. */
export interface Source { url?: string, html?: string, base_url?: string, timeout_ms: number }

export interface Page {
  $: CheerioAPI
  /** What relative links are relative to. */
  base: string | undefined
  /** Where the page came from, after redirects; absent for a text. */
  url: string | undefined
  truncated: boolean
}

/** Fetches a page, or takes the text that was given. @throws Error saying why it can't be read */
export async function pageOf ({ url, html, base_url, timeout_ms }: Source, context: ToolContext): Promise<Page> {
  if ((url === undefined) === (html === undefined)) throw new Error('give either `url` or `html`')
  if (base_url !== undefined && !URL.canParse(base_url)) {
    throw new Error('`base_url` is no URL, such as https://example.org/')
  }
  const [{ load }, found] = await Promise.all([
    import('cheerio/slim'),
    url === undefined ? { html: html ?? '', url: undefined, truncated: false } : fetchPage(url, timeout_ms, context)
  ])
  refuseDeep(found.html)
  // One element around all: what the selectors do with many elements at the top takes the square of their number.
  const $ = load(`<x-page>${found.html.replaceAll(blankRun, ' ')}</x-page>`)
  const from = found.url ?? base_url
  const declared = $('base[href]').first().attr('href')
  return {
    $, url: found.url, truncated: found.truncated, base: declared === undefined ? from : resolve(declared, from) ?? from
  }
}

/** Counts tags: a page that leaves very many open is none that somebody wrote. */
function refuseDeep (html: string): void {
  let open = 0
  for (const [, closing, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    if (unclosed.has(name.toLowerCase())) continue
    open = closing === '' ? open + 1 : Math.max(0, open - 1)
    if (open > nestingMax) {
      throw new Error(`the page is nested too deeply to be read: it has more than ${nestingMax} elements open at once`)
    }
  }
}

async function fetchPage (
  url: string,
  timeout_ms: number,
  { config, signal }: ToolContext
): Promise<{ html: string, url: string, truncated: boolean }> {
  const [{ Allowed, fetchUrl }, { decodeText, typeOf }] =
    await Promise.all([import('../shared/fetch.ts'), import('../shared/text.ts')])
  const reply = await fetchUrl(url, {
    method: 'GET', headers: { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.1' },
    allowed: Allowed.of('web', config), redirects_max: 5, bytes_max: pageBytesMax, timeout_ms, signal
  })
  if (reply.status < 200 || reply.status > 299) {
    throw new Error(`${reply.url} answers ${reply.status} ${reply.status_text}`.trimEnd())
  }
  const type = reply.headers['content-type'] ?? ''
  if (!/^(|text\/html|application\/xhtml\+xml|(text|application)\/xml)$/.test(typeOf(type))) {
    throw new Error(`${reply.url} is no page of HTML, but ${typeOf(type)}; the skill http fetches it`)
  }
  return { html: decodeText(reply.body, type || 'text/html').text, url: reply.url, truncated: reply.truncated }
}

/** A link of a page in full. Undefined where it is none that can be followed: only these schemes lead anywhere. */
export function resolve (href: string, base: string | undefined): string | undefined {
  const text = href.trim()
  if (text === '') return undefined
  if (URL.canParse(text, base)) {
    const url = new URL(text, base)
    return /^(https?|mailto|tel|ftp):$/.test(url.protocol) ? url.href : undefined
  }
  // Without a base, a relative link is as much as is known.
  return base === undefined && !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) ? text : undefined
}

/** Text as a reader sees it: white space is one space. */
export function squeeze (text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
