import { getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'

/**
 * Entries of JSON files with comments and trailing commas, as editors write them. The library only parses them; the
 * insertion is done here, since the library's `modify` formats whole lines again, which may be the whole file, and
 * moves the comment behind the last entry to the new entry.
 */

/**
 * Sets `[section].[name]` in the text of a JSON or JSONC file. All other text stays unchanged, including comments.
 * @throws Error when the text is not a JSON object, or its section is not an object
 */
export function setEntry (text: string, section: string, name: string, entry: object): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
  const body = text.slice(mark.length)
  const root = rootOf(body)
  if (root === undefined) return `${text}${JSON.stringify({ [section]: { [name]: entry } }, undefined, 2)}\n`
  const present = valueOf(root, section)
  if (present !== undefined && present.type !== 'object') throw new Error(`its "${section}" is not an object`)
  const unit = /\n([ \t]+)"/.exec(body)?.[1] ?? '  '
  return mark
    + (present === undefined
      ? put(body, root, section, { [name]: entry }, unit, 1)
      : put(body, present, name, entry, unit, 2))
}

/**
 * The entry in such a text; undefined where there is none.
 * @throws Error when the text is not a JSON object
 */
export function getEntry (text: string, section: string, name: string): Record<string, unknown> | undefined {
  const entry = valueOf(valueOf(rootOf(text.replace(/^\ufeff/, '')), section), name)
  return entry?.type === 'object' ? { ...getNodeValue(entry) as Record<string, unknown> } : undefined
}

/** The object in a text; undefined for a text with no content except comments. */
function rootOf (text: string): Node | undefined {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first !== undefined) {
    throw new Error(`it is not JSON: ${placeOf(text, first.offset)}: ${printParseErrorCode(first.error).replaceAll(/\B[A-Z]/g, ' $&').toLowerCase()}`)
  }
  if (root !== undefined && root.type !== 'object') throw new Error('it is not a JSON object')
  return root
}

function placeOf (text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`
}

/** The value of a member. When a name is there twice, the last member counts, as in JSON.parse. */
function valueOf (object: Node | undefined, name: string): Node | undefined {
  if (object?.type !== 'object') return undefined
  return object.children?.findLast(({ children: [key] = [] }) => key?.value === name)?.children?.[1]
}

/** Puts a member into an object: in place of the member with its name, or at the end. */
function put (text: string, object: Node, name: string, value: object, unit: string, depth: number): string {
  const indented = JSON.stringify(value, undefined, unit).replaceAll('\n', `\n${unit.repeat(depth)}`)
  const same = valueOf(object, name)
  if (same !== undefined) return text.slice(0, same.offset) + indented + text.slice(same.offset + same.length)
  const member = `\n${unit.repeat(depth)}${JSON.stringify(name)}: ${indented}`
  const last = object.children?.at(-1)
  if (last !== undefined) {
    const end = last.offset + last.length
    const behind = text.slice(end)
    // A comment stays on the line that it describes.
    const [all = '', comma = '', comment = ''] = /^(,?)([ \t]*\/\/[^\n]*)?/.exec(behind) ?? []
    return `${text.slice(0, end)},${comment}${member}${comma}${behind.slice(all.length)}`
  }
  const rest = text.slice(object.offset + 1)
  const end = /^\s*\}/.test(rest) ? `\n${unit.repeat(depth - 1)}${rest.trimStart()}` : rest
  return `${text.slice(0, object.offset + 1)}${member}${end}`
}
