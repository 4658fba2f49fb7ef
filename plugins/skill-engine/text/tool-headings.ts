import { bareHeading, isBullet, isLabel, isTableRow, type Line } from './markdown.ts'
import { brief, isToolName } from './names.ts'
import { inheritAll } from './inherit.ts'
import { parameterItemsOf, type ParameterItem } from './parameter-text.ts'
import type { EngineTool } from './parameters.ts'

/** The most tools that are read from one text. */
const toolsMax = 1_000

/** A heading and the lines below it, up to the next one of its level. */
interface Block { title: string, lines: Line[] }

/** The tools in the headings of a SKILL.md, in one of three layouts, and the notes about headings that are no tools. */
export function toolsOfText (lines: readonly Line[]): { tools: EngineTool[], notes: string[] } {
  const notes: string[] = []
  const found = new Map<string, { description: string, items: ParameterItem[] }>()
  const add = (name: string, description: string, items: ParameterItem[]): void => {
    if (found.has(name)) notes.push(`tool-name-taken: ${name}`)
    else if (found.size >= toolsMax) notes.push(`tools-dropped: ${name} (more than ${toolsMax})`)
    else found.set(name, { description, items })
  }
  for (const block of blocksOf(sectionOf(lines), 3)) addBlock(block, add, notes)
  const inherited = inheritAll(new Map([...found].map(([name, { items }]) => [name, items])))
  const tools = [...found].map(([name, { description }]) =>
    ({ name, description, parameters: inherited.parameters.get(name) ?? [] }))
  return { tools, notes: [...notes, ...inherited.notes] }
}

type Add = (name: string, description: string, items: ParameterItem[]) => void

function addBlock (block: Block, add: Add, notes: string[]): void {
  const within = blocksOf(block.lines, 4)
  const bullets = within.length > 0 ? [] : toolBullets(block.lines)
  if (bullets.length > 0) {
    for (const { name, description } of bullets) add(name, description, [])
    return
  }
  for (const { title, lines } of within.length > 0 ? within : [block]) {
    const name = bareHeading(title)
    if (isToolName(name)) add(name, descriptionOf(lines), parameterItemsOf(lines))
    else notes.push(`heading-not-a-tool: ${brief(name, 80)}`)
  }
}

/** The lines below the heading of the tools, up to the next heading of its level or above. */
function sectionOf (lines: readonly Line[]): Line[] {
  const start = lines.findIndex(({ kind, level, text }) => kind === 'heading' && level === 2 && isToolsHeading(text))
  if (start === -1) return []
  const end = lines.findIndex(({ kind, level }, at) => at > start && kind === 'heading' && level <= 2)
  return lines.slice(start + 1, end === -1 ? undefined : end)
}

function isToolsHeading (text: string): boolean {
  return /^(tools|tools provided|available tools|provided tools)$/i.test(text.replace(/\s{0,10}\([^()]*\)$/, ''))
}

function blocksOf (lines: readonly Line[], level: number): Block[] {
  const blocks: Block[] = []
  for (const line of lines) {
    if (line.kind === 'heading' && line.level === level) blocks.push({ title: line.text, lines: [] })
    else blocks.at(-1)?.lines.push(line)
  }
  return blocks
}

/** The bullets of a category that lists its tools; none where there is more than such bullets. */
function toolBullets (lines: readonly Line[]): { name: string, description: string }[] {
  if (lines.some(({ kind, text }) => kind === 'code' || isLabel(text) || isTableRow(text))) return []
  return lines.flatMap(({ kind, text }) => {
    const [, name, description = ''] = /^\s*[-*]\s+`([^`\s]+)`\s+[-–—]\s+(.*)$/.exec(kind === 'text' ? text : '') ?? []
    return isToolName(name) ? [{ name, description: description.trim() }] : []
  })
}

/** The first paragraph, in one line, before any label, list, table, code or heading. */
function descriptionOf (lines: readonly Line[]): string {
  const paragraph: string[] = []
  for (const { kind, text } of lines) {
    const isProse = kind === 'text' && !isLabel(text) && !isTableRow(text) && !isBullet(text)
    if (!isProse || (text.trim() === '' && paragraph.length > 0)) break
    if (text.trim() !== '') paragraph.push(text.trim())
  }
  return paragraph.join(' ')
}
