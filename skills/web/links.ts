import { resolve, squeeze, type Page } from './page.ts'

export interface Link { url: string, text: string, rel?: string }

export interface LinkOptions { which: 'all' | 'internal' | 'external', limit: number }

/** The longest text of a link that is told, in characters. */
const textMax = 200

/** The links of a page in full, each once, in the page's order. */
export function linksOf ({ $, base }: Page, { which, limit }: LinkOptions): { links: Link[], more: number } {
  const host = base === undefined ? undefined : new URL(base).host
  const links = new Map<string, Link>()
  for (const element of $('a[href],area[href]').toArray()) {
    const link = $(element)
    const url = resolve(link.attr('href') ?? '', base)
    if (url === undefined || (which !== 'all' && isInternal(url, host) !== (which === 'internal'))) continue
    const text = squeeze(link.text())
      || squeeze(
        link.attr('aria-label') ?? link.attr('title') ?? link.attr('alt') ?? link.find('img[alt]').attr('alt') ?? ''
      )
    const known = links.get(url)
    const rel = link.attr('rel')?.trim()
    if (known === undefined) {
      links.set(url, { url, text: text.slice(0, textMax), ...(rel !== undefined && rel !== '' && { rel }) })
    } else if (known.text === '') {
      known.text = text.slice(0, textMax) // an image and a text often lead to the same place
    }
  }
  const all = [...links.values()]
  return { links: all.slice(0, limit), more: Math.max(0, all.length - limit) }
}

function isInternal (url: string, host: string | undefined): boolean {
  return URL.canParse(url) ? new URL(url).host === host : true
}
