import { getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'

/**
 * Entries of JSON files with comments and trailing commas, as editors keep them. The library reads them; what is put in
 * is put in here, since its `modify` formats whole lines anew, which may be the whole file, and takes the comment
 * behind the last entry for the new one's.
 */

/**
 * Sets `[section].[name]` in the text of a JSON or JSONC file, leaving all else as it is, comments included.
 * @throws Error when the text is no JSON object, or its section is none
 */
export function setEntry (text: string, section: string, name: string, entry: object): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
  const body = text.slice(mark.length)
  const root = rootOf(body)
  if (root === undefined) return `${text}${JSON.stringify({ [section]: { [name]: entry } }, undefined, 2)}\n`
  const present = valueOf(root, section)
  if (present !== undefined && present.type !== 'object') throw new Error(`its "${section}" is not an object`)
  const unit = /\n([ \t]+)"/.exec(body)?.[1] ?? '  '
  return mark + (present === undefined ? put(body, root, section, { [name]: entry }, unit, 1) : put(body, present, name, entry, unit, 2))
}

/** The entry as it stands in such a text; undefined where it does not. @throws Error when the text is no JSON object */
export function getEntry (text: string, section: string, name: string): Record<string, unknown> | undefined {
  const entry = valueOf(valueOf(rootOf(text.replace(/^\ufeff/, '')), section), name)
  return entry?.type === 'object' ? { ...getNodeValue(entry) as Record<string, unknown> } : undefined
}

/** The object of a text; undefined where it holds comments at most. */
function rootOf (text: string): Node | undefined {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first !== undefined) throw new Error(`it is not JSON: ${placeOf(text, first.offset)}: ${printParseErrorCode(first.error).replaceAll(/\B[A-Z]/g, ' $&').toLowerCase()}`)
  if (root !== undefined && root.type !== 'object') throw new Error('it is not a JSON object')
  return root
}

function placeOf (text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`
}

/** The value of a member. Of a name that is there twice, the last counts, as in JSON.parse. */
function valueOf (object: Node | undefined, name: string): Node | undefined {
  if (object?.type !== 'object') return undefined
  return object.children?.findLast(({ children: [key] = [] }) => key?.value === name)?.children?.[1]
}

/** Puts a member into an object: in the place of one of its name, or at the end. */
function put (text: string, object: Node, name: string, value: object, unit: string, depth: number): string {
  const indented = JSON.stringify(value, undefined, unit).replaceAll('\n', `\n${unit.repeat(depth)}`)
  const same = valueOf(object, name)
  if (same !== undefined) return text.slice(0, same.offset) + indented + text.slice(same.offset + same.length)
  const member = `\n${unit.repeat(depth)}${JSON.stringify(name)}: ${indented}`
  const last = object.children?.at(-1)
  if (last !== undefined) {
    const end = last.offset + last.length
    const behind = text.slice(end)
    // A comment stays on the line it is about.
    const [all = '', comma = '', comment = ''] = /^(,?)([ \t]*\/\/[^\n]*)?/.exec(behind) ?? []
    return `${text.slice(0, end)},${comment}${member}${comma}${behind.slice(all.length)}`
  }
  const rest = text.slice(object.offset + 1)
  return `${text.slice(0, object.offset + 1)}${member}${/^\s*\}/.test(rest) ? `\n${unit.repeat(depth - 1)}${rest.trimStart()}` : rest}`
}
