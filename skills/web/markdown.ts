import type { Cheerio, CheerioAPI } from 'cheerio'
import type Turndown from 'turndown'
import { resolve, type Page } from './page.ts'

export interface MarkdownOptions { main: boolean, links: boolean, images: boolean }

/** What is nobody's to read: code, controls, and what a page hides from its readers. */
const unread = 'script,style,noscript,template,svg,math,iframe,frame,object,embed,canvas,audio,video,map,head,link,meta,base,button,input,select,textarea,dialog,[hidden],[aria-hidden="true"]'
/** What stands around the matter of a page. */
const around = 'nav,header,footer,aside,form,[role="navigation"],[role="banner"],[role="contentinfo"],[role="complementary"],[role="search"]'
/** The share of a page's text that its main part must have to be taken for it. */
const mainShare = 0.2

/** A page as Markdown. */
export async function toMarkdown (page: Page, options: MarkdownOptions): Promise<string> {
  clean(page, options)
  const { $ } = page
  const { default: TurndownService } = await import('turndown')
  const service = new TurndownService({
    headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', emDelimiter: '_', hr: '---'
  })
  addRules(service)
  return service.turndown($.html(options.main ? mainPart($) : $.root())).trim()
}

/** Takes out what nobody reads, and gives the rest the form that the library knows. */
function clean ({ $, base }: Page, { links, images }: MarkdownOptions): void {
  $(unread).remove()
  $('[style]').filter((_i, element) =>
    /(^|;)\s*(display\s*:\s*none|visibility\s*:\s*hidden)/i.test($(element).attr('style') ?? '')).remove()
  $('a').each((_i, element) => {
    const link = $(element)
    const url = links ? resolve(link.attr('href') ?? '', base) : undefined
    if (url === undefined) link.removeAttr('href')
    else link.attr('href', url)
  })
  $('img').each((_i, element) => {
    const image = $(element)
    const url = images ? resolve(image.attr('src') ?? '', base) : undefined
    if (url === undefined) image.remove()
    else image.attr('src', url)
  })
  // Code that is marked up for its colours.
  $('pre').each((_i, element) => {
    const block = $(element)
    const classes = [block.find('code').attr('class'), block.attr('class'), block.parent().attr('class')].join(' ')
    const [, language] = /(?:language|lang|highlight-source|highlight)-([\w+#-]{1,30})/.exec(classes) ?? []
    const code = $('<code>').text(block.text())
    block.empty().append(language === undefined ? code : code.attr('class', `language-${language}`))
  })
  // Tables that hold a page together are none to read.
  const layout = new Set<Node | null>($('table[role="presentation"],table[role="none"]').toArray())
  for (const table of $('table').toArray()) layout.add(tableAround(table))
  for (const part of $('tr,td,th,tbody,thead,tfoot').toArray()) if (layout.has(tableAround(part))) part.name = 'div'
  for (const table of layout) if (table !== null && 'name' in table) table.name = 'div'
}

type Node = Parameters<CheerioAPI['contains']>[0]

/** The table that an element lies in; null where it lies in none. */
function tableAround ({ parent }: Node): Node | null {
  let around: Node | null = parent
  while (around !== null && !('name' in around && around.name === 'table')) around = around.parent
  return around
}

/**
 * The part with the matter: what the page says is it, where that has a fair share of the text; else all but what stands
 * around.
 */
function mainPart ($: CheerioAPI): Cheerio<Node> {
  const length = $.root().text().length
  for (const selector of ['main', '[role="main"]', 'article']) {
    const [first, second] = $(selector).toArray()
    if (first === undefined || second !== undefined || $(first).text().length < mainShare * length) continue
    $(first).find('nav,aside,form').remove()
    return $(first)
  }
  $(around).remove()
  return $.root()
}

/** What Markdown has beyond the library's rules: tables and struck text. */
function addRules (service: Turndown): void {
  service.addRule('struck', {
    filter: ['del', 's'],
    replacement: content => content.trim() === '' ? '' : `~~${content}~~`
  })
  service.addRule('cell', {
    filter: ['th', 'td'],
    replacement: content =>
      ` ${content.split('\n').map(line => line.trim()).filter(line => line !== '').join(' ').replaceAll('|', '\\|')} |`
  })
  service.addRule('row', { filter: 'tr', replacement: content => `\n|${content}` })
  service.addRule('part', { filter: ['thead', 'tbody', 'tfoot'], replacement: content => content })
  service.addRule('table', {
    filter: 'table',
    replacement (content) {
      const lines = content.split('\n').filter(line => line.trim() !== '')
      const rows = lines.filter(line => line.startsWith('|'))
      const [head = ''] = rows
      // The second line says that it is a table; the first row is its head, whether it says so or not.
      const rule = `|${' --- |'.repeat(Math.max(1, (head.match(/(?<!\\)\|/g)?.length ?? 0) - 1))}`
      const caption = lines.filter(line => !line.startsWith('|')).join('\n')
      return rows.length === 0
        ? `\n\n${caption}\n\n`
        : `\n\n${caption}${caption === '' ? '' : '\n\n'}${[head, rule, ...rows.slice(1)].join('\n')}\n\n`
    }
  })
}
