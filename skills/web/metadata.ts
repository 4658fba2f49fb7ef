import { resolve, squeeze, type Page } from './page.ts'

/** The most entries of a kind, the longest value in characters, and the longest block of JSON-LD. */
const entriesMax = 100
const valueMax = 2000
const linkedDataMax = 50_000

/** What a page says of itself. Absent is what it does not say. */
export function metadataOf ({ $, base, url }: Page): object {
  const metas = new Map<string, string>()
  for (const element of $('meta[content]').toArray()) {
    const meta = $(element)
    const name = (meta.attr('property') ?? meta.attr('name') ?? meta.attr('itemprop') ?? '').trim().toLowerCase()
    const value = squeeze(meta.attr('content') ?? '').slice(0, valueMax)
    if (name !== '' && value !== '' && !metas.has(name)) metas.set(name, value)
  }
  const first = (...names: string[]): string | undefined =>
    names.map(name => metas.get(name)).find(value => value !== undefined)
  const linked = (selector: string): string | undefined => resolve($(selector).first().attr('href') ?? '', base)
  const image = first('og:image', 'og:image:url', 'twitter:image')
  return present({
    url,
    title: squeeze($('title').first().text()).slice(0, valueMax)
      || first('og:title', 'twitter:title')
      || squeeze($('h1').first().text()).slice(0, valueMax),
    description: first('description', 'og:description', 'twitter:description'),
    language: $('html').attr('lang') ?? first('og:locale'),
    canonical: linked('link[rel~="canonical"]') ?? first('og:url'),
    site_name: first('og:site_name', 'application-name'),
    type: first('og:type'),
    author: first('author', 'article:author', 'twitter:creator'),
    published: first('article:published_time', 'datepublished', 'date') ?? $('time[datetime]').first().attr('datetime'),
    modified: first('article:modified_time', 'datemodified', 'og:updated_time'),
    keywords: (first('keywords') ?? '').split(',').map(squeeze).filter(word => word !== '').slice(0, entriesMax),
    image: image === undefined ? undefined : resolve(image, base),
    icon: linked('link[rel~="icon"]') ?? linked('link[rel~="apple-touch-icon"]'),
    robots: first('robots'),
    ...alternates($, base),
    open_graph: named(metas, 'og:'),
    twitter: named(metas, 'twitter:'),
    headings: $('h1,h2').toArray().slice(0, entriesMax)
      .map(element => squeeze($(element).text()).slice(0, 300))
      .filter(text => text !== ''),
    linked_data: linkedData($)
  })
}

/** The feeds of a page, and the page in other languages: the URL by the code of the language. */
function alternates ($: Page['$'], base: Page['base']): { feeds: object[], languages: object } {
  const links = (selector: string) => $(selector).toArray().slice(0, entriesMax).map(element => $(element))
  return {
    feeds: links('link[rel~="alternate"][href]')
      .filter(link => /rss|atom|feed\+json/.test(link.attr('type') ?? ''))
      .map(link =>
        present({ url: resolve(link.attr('href') ?? '', base), title: link.attr('title'), type: link.attr('type') })),
    languages: Object.fromEntries(links('link[rel~="alternate"][hreflang]')
      .map(link => [link.attr('hreflang'), resolve(link.attr('href') ?? '', base)]))
  }
}

function named (metas: ReadonlyMap<string, string>, prefix: string): object {
  const found = [...metas].filter(([name]) => name.startsWith(prefix)).slice(0, entriesMax)
  return Object.fromEntries(found.map(([name, value]) => [name.slice(prefix.length), value]))
}

/** Blocks of JSON-LD. One that is no JSON says nothing. */
function linkedData ($: Page['$']): unknown[] {
  let left = linkedDataMax
  return $('script[type="application/ld+json"]').toArray().slice(0, entriesMax).flatMap(element => {
    const text = $(element).text()
    left -= text.length
    if (left < 0) return []
    try {
      return [JSON.parse(text) as unknown]
    } catch {
      return []
    }
  })
}

/** Without what says nothing. */
function present (fields: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) =>
    value !== undefined
    && value !== ''
    && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0)))
}
