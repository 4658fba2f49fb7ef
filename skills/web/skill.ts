import { defineSkill, type ToolContext } from '../../kernel/skill.ts'
import type { Page, Source } from './page.ts'

const source = {
  url: {
    type: 'string',
    description: 'URL of the page, http or https; give either this or `html`',
    minLength: 1,
    maxLength: 8192
  },
  html: { type: 'string', description: 'The page as a text; give either this or `url`', maxLength: 1_000_000 },
  base_url: { type: 'string', description: 'What relative links of `html` are relative to', maxLength: 8192 },
  timeout_ms: {
    type: 'integer',
    description: 'How long fetching may take, in milliseconds',
    default: 20_000,
    minimum: 1,
    maximum: 60_000
  }
} as const

/** Fetching, and then the work on the page. */
const limit_ms = 75_000

export default defineSkill({
  tools: {
    markdown: {
      description: 'Read a web page or article as Markdown: its main text with headings, lists, tables, code and links, without navigation and scripts; from a URL or HTML',
      parameters: {
        ...source,
        main: {
          type: 'boolean',
          description: 'Only the main part of the page, without what stands around it',
          default: true
        },
        links: { type: 'boolean', description: 'Whether to keep where links lead', default: true },
        images: { type: 'boolean', description: 'Whether to keep images', default: false },
        from: {
          type: 'integer',
          description: 'How many characters to skip; to go on where an earlier call was cut',
          default: 0,
          minimum: 0
        },
        length: {
          type: 'integer', description: 'The most characters to give', default: 50_000, minimum: 1, maximum: 500_000
        }
      },
      timeout_ms: limit_ms,
      async run ({ main, links, images, from, length, ...what }, context) {
        const { page, truncated } = await read(what, context)
        const { toMarkdown } = await import('./markdown.ts')
        const text = await toMarkdown(page, { main, links, images })
        if (from > 0 && from >= text.length) {
          throw new Error(`the page has ${text.length} characters; there is nothing from ${from} on`)
        }
        const part = slice(text, from, length)
        const end = from + part.length
        const notes = [
          ...(end < text.length ? [`(cut at ${end} of ${text.length} characters; go on with from = ${end})`] : []),
          ...(truncated ? ['(the page is larger than what is read of it)'] : [])
        ]
        return [part, ...notes].join('\n')
      }
    },

    links: {
      description: 'List the links on a web page: full URL, text and relation, each once; all, internal (same host) or external ones; from a URL or HTML',
      parameters: {
        ...source,
        which: {
          type: 'string',
          description: 'All links, those to the same host, or those to others',
          enum: ['all', 'internal', 'external'],
          default: 'all'
        },
        limit: { type: 'integer', description: 'The most links to list', default: 200, minimum: 1, maximum: 5000 }
      },
      timeout_ms: limit_ms,
      async run ({ which, limit, ...what }, context) {
        const { page, ...about } = await read(what, context)
        const { linksOf } = await import('./links.ts')
        const { links, more } = linksOf(page, { which, limit })
        return { ...about, links, ...(more > 0 && { more }) }
      }
    },

    metadata: {
      description: 'Extract the metadata of a web page: title, description, language, author, when it was published, canonical URL, preview image, feeds, headings, Open Graph and JSON-LD; from a URL or HTML',
      parameters: source,
      timeout_ms: limit_ms,
      async run (what, context) {
        const { page } = await read(what, context)
        const { metadataOf } = await import('./metadata.ts')
        return metadataOf(page)
      }
    }
  }
})

/** The page, and what of it is told beside what was asked for. */
async function read (source: Source, context: ToolContext): Promise<{ page: Page, url?: string, truncated?: true }> {
  const { pageOf } = await import('./page.ts')
  const page = await pageOf(source, context)
  return { page, ...(page.url !== undefined && { url: page.url }), ...(page.truncated && { truncated: true }) }
}

/** Part of a text; a pair of surrogates stays together. */
function slice (text: string, from: number, length: number): string {
  const start = isLow(text, from) ? from - 1 : from
  const end = start + length
  return text.slice(start, isLow(text, end) ? end - 1 : end)
}

function isLow (text: string, at: number): boolean {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '')
}
