import { parseDocument } from 'yaml'
import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { linesOf, isBullet, isLabel, isTableRow, type Line } from './markdown.ts'
import { brief } from './names.ts'
import type { EngineTool } from './parameters.ts'
import { toolsOfText } from './tool-headings.ts'

/** The most characters of frontmatter: YAML of more takes long to read. */
const frontmatterMax = 65_536

/** What a SKILL.md says. */
export interface SkillText {
  name?: string
  description?: string
  version?: string
  /** The first paragraph, for a skill that nothing else describes. */
  firstParagraph: string
  /** The entries of `allowed-tools`. */
  allowedTools: string[]
  /** The text without the frontmatter. */
  instructions: string
  tools: EngineTool[]
  notes: string[]
}

/**
 * Reads a SKILL.md.
 * @throws Error when the frontmatter has no end, is not YAML, or is too long
 */
export function parseSkillMd (file: string): SkillText {
  const { yaml, body } = split(file.replace(/^\uFEFF/, ''))
  const matter = yaml === undefined ? {} : parseYaml(yaml, 'the frontmatter')
  const lines = linesOf(body)
  const text = (key: string): string | undefined => textOf(matter[key])
  const [name, description, version] = [text('name'), text('description'), text('version')]
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    firstParagraph: firstParagraphOf(lines),
    allowedTools: allowedOf(matter['allowed-tools']),
    instructions: body.trim(),
    ...toolsOfText(lines)
  }
}

function split (text: string): { yaml: string | undefined, body: string } {
  const start = /^---[ \t]*\r?\n/.exec(text)?.[0]
  if (start === undefined) return { yaml: undefined, body: text }
  const end = /^---[ \t]*$/m.exec(text.slice(start.length).replaceAll('\r', ' '))
  if (end === null) throw new Error('the frontmatter begins with --- and has no second --- that ends it')
  if (end.index > frontmatterMax) throw new Error(`the frontmatter has more than ${frontmatterMax} characters before the second ---`)
  const at = start.length + end.index
  return { yaml: text.slice(start.length, at), body: text.slice(at + end[0].length) }
}

/**
 * Reads YAML that must be a table.
 * @param about what it is, for the error
 * @throws Error
 */
export function parseYaml (yaml: string, about: string): JsonObject {
  const document = parseDocument(yaml, { schema: 'core', uniqueKeys: true, prettyErrors: false })
  const [problem] = document.errors
  if (problem !== undefined) {
    throw new Error(`${about} between --- and --- is not valid YAML: ${brief(problem.message)}`)
  }
  let values: unknown
  try {
    values = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new Error(`${about} can't be read: ${brief(messageOf(error))}`, { cause: error })
  }
  if (values === null || values === undefined) return {}
  if (!isObject(values)) throw new Error(`${about} is not a table of keys and values`)
  return values
}

/** A scalar as text; undefined for anything else, and for an empty text. */
export function textOf (value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
  return text === '' ? undefined : text
}

/** `Bash, Read` or a list: both are in use. */
function allowedOf (value: unknown): string[] {
  const items: unknown[] = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
  return items.flatMap(item => textOf(item) ?? []).slice(0, 1_000)
}

function firstParagraphOf (lines: readonly Line[]): string {
  const paragraph: string[] = []
  for (const { kind, text } of lines) {
    const isProse = kind === 'text' && text.trim() !== '' && !isLabel(text) && !isTableRow(text) && !isBullet(text)
    if (isProse) paragraph.push(text.trim())
    else if (paragraph.length > 0) break
  }
  return brief(paragraph.join(' '), 1_024)
}
