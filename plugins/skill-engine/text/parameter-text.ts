import type { JsonObject } from '../../../kernel/index.ts'
import { isBullet, isLabel, isTableRow, type Line } from './markdown.ts'
import { castDefault, isType, schemaOfType, type EngineParameter } from './parameters.ts'

/** A parameter, or the place where those of another tool stand. */
export type ParameterItem = { parameter: EngineParameter } | { inherit: string }

/** The parameters in the text of a tool: bullets behind the label, or a table. */
export function parameterItemsOf (lines: readonly Line[]): ParameterItem[] {
  const items = tableItems(lines)
  let inList = false
  for (const { kind, text } of lines) {
    const [, rest] = /^\s*\*\*Parameters(?::\*\*|\*\*\s{0,10}:)(.*)$/i.exec(text) ?? []
    if (rest !== undefined) {
      inList = true
      const other = /^\s*Same as `([^`]+)`/i.exec(rest)?.[1]
      if (other !== undefined) items.push({ inherit: other })
    } else if (kind !== 'text' || isLabel(text) || isTableRow(text)) {
      inList = false
    } else if (inList && isBullet(text)) {
      const item = bulletItem(text)
      if (item !== undefined) items.push(item)
    }
  }
  return items
}

function bulletItem (line: string): ParameterItem | undefined {
  const text = line.trim().slice(1).trim()
  const other = /^All parameters from `([^`]+)`/i.exec(text)?.[1]
  if (other !== undefined) return { inherit: other }
  const [whole, ticked, bold] = /^(?:`([^`\s]{1,128})`|\*\*([^*\s]{1,128})\*\*)/.exec(text) ?? []
  const name = ticked ?? bold
  if (whole === undefined || name === undefined || name === '__proto__') return undefined
  let rest = text.slice(whole.length).trimStart()
  let attributes: string[] = []
  if (rest.startsWith('(')) {
    const end = closing(rest)
    if (end !== -1) {
      attributes = rest.slice(1, end).split(',').map(attribute => attribute.trim())
      rest = rest.slice(end + 1).trimStart()
    }
  }
  return { parameter: parameterOf(name, attributes, rest.replace(/^:/, '').trim()) }
}

/** The place of the parenthesis that closes the first one; -1 without one. */
function closing (text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return at
  }
  return -1
}

function parameterOf (name: string, attributes: readonly string[], description: string): EngineParameter {
  const lower = attributes.map(attribute => attribute.toLowerCase())
  const schema: JsonObject = { ...schemaOfType(lower.find(isType) ?? 'string'), description }
  const choices = attributes.find(attribute => /^enum\s*:/i.test(attribute))?.replace(/^enum\s*:/i, '')
    .split('|').map(choice => choice.trim()).filter(choice => choice !== '')
  if (choices !== undefined && choices.length > 0) schema['enum'] = choices
  const written = attributes.flatMap(attribute => defaultIn(attribute) ?? [])[0]
  const text = written ?? defaultInText(description)
  const value = text === undefined ? undefined : castDefault(schema['type'], text)
  // A default of a string is often prose, such as `now`.
  const isSure = schema['type'] !== 'string' || choices?.includes(String(value)) === true
  if (value !== undefined && isSure) schema['default'] = value
  else if (written !== undefined) schema['description'] = `${description} (default: ${written})`.trim()
  return { name, required: lower.includes('required'), schema }
}

function defaultIn (text: string): string | undefined {
  return /^default\s{0,10}[:=](.*)$/i.exec(text)?.[1]?.trim()
}

/** The default in a parenthesis such as `(1-80 columns, default: false)`. */
function defaultInText (text: string): string | undefined {
  for (const [, inner = ''] of text.matchAll(/\(([^()]*)\)/g)) {
    for (const part of inner.split(',')) {
      const value = defaultIn(part.trim())
      if (value !== undefined) return value
    }
  }
  return undefined
}

/** The parameters of the first table whose columns are those of parameters. */
function tableItems (lines: readonly Line[]): ParameterItem[] {
  for (let at = 0; at < lines.length; at++) {
    if (lines[at]?.kind !== 'text' || !isTableRow(lines[at]?.text ?? '')) continue
    const columns = cellsOf(lines[at]?.text ?? '').map(cell => cell.toLowerCase())
    let end = at + 1
    while (lines[end]?.kind === 'text' && isTableRow(lines[end]?.text ?? '')) end++
    if (/^(parameter|name)$/.test(columns[0] ?? '') && columns.includes('required')) {
      const rows = lines.slice(at + 1, end).map(({ text }) => cellsOf(text))
      return rows.flatMap(cells => rowItem(columns, cells))
    }
    at = end - 1
  }
  return []
}

function rowItem (columns: readonly string[], cells: readonly string[]): ParameterItem[] {
  const cell = (column: string): string => cells[columns.indexOf(column)] ?? ''
  const name = (cells[0] ?? '').replaceAll('`', '').replaceAll('**', '')
  if (name === '' || name === '__proto__' || name.length > 128 || /\s/.test(name) || /^:?-+:?$/.test(name)) return []
  const type = schemaOfType(cell('type').replaceAll('`', '').toLowerCase())
  const schema: JsonObject = { ...type, description: cell('description') }
  const text = cell('default').replaceAll('`', '')
  const value = text === '' || text === '-' ? undefined : castDefault(schema['type'], text)
  if (value !== undefined) schema['default'] = value
  return [{ parameter: { name, required: /^yes$/i.test(cell('required')), schema } }]
}

/** The cells of a row; a backslash before a bar makes it a part of the cell. */
function cellsOf (row: string): string[] {
  const cells: string[] = ['']
  const text = row.trim()
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '\\' && text[at + 1] === '|') cells[cells.length - 1] += text[++at] ?? ''
    else if (text[at] === '|') cells.push('')
    else cells[cells.length - 1] += text[at] ?? ''
  }
  if (text.endsWith('|')) cells.pop()
  return cells.map(cell => cell.trim())
}
