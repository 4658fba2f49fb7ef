import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../kernel/index.ts'

/** JSON with comments and trailing commas, as editors keep it. */

/**
 * Sets `[section].[name]` in the text of a JSON or JSONC file, leaving all else as it is, comments included.
 * @throws Error when the text is no JSON object, or its section is none
 */
export function setEntry (text: string, section: string, name: string, entry: object): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
  const body = text.slice(mark.length)
  if (plainJson(body).trim() === '') return `${text}${JSON.stringify({ [section]: { [name]: entry } }, undefined, 2)}\n`
  const before = parse(body)
  const present = before[section]
  if (present !== undefined && !isObject(present)) throw new Error(`its "${section}" is not an object`)
  const unit = /\n([ \t]+)"/.exec(body)?.[1] ?? '  '
  const changed = present === undefined
    ? put(body, body.indexOf('{', plainJson(body).search(/\S/)), section, { [name]: entry }, unit, 1)
    : put(body, startOf(body, section), name, entry, unit, 2)
  const expected = { ...before, [section]: { ...present, [name]: entry } }
  if (!isDeepStrictEqual(parse(changed), expected)) throw new Error('it can not be changed without changing more than that')
  return `${mark}${changed}`
}

/** The entry as it stands in such a text; undefined where it does not. @throws Error when the text is no JSON object */
export function getEntry (text: string, section: string, name: string): Record<string, unknown> | undefined {
  const body = text.replace(/^\ufeff/, '')
  if (plainJson(body).trim() === '') return undefined
  const within = parse(body)[section]
  const entry = isObject(within) && Object.hasOwn(within, name) ? within[name] : undefined
  return isObject(entry) ? entry : undefined
}

function parse (text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(plainJson(text))
  if (!isObject(value)) throw new Error('it is not a JSON object')
  return value
}

/** The same text, each character in its place, with blanks for comments and trailing commas. */
function plainJson (text: string): string {
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, ' ')
  const bare = text.replaceAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, part => part.startsWith('"') ? part : blank(part))
  return bare.replaceAll(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, part => part === ',' ? ' ' : part)
}

interface Member { name: string, from: number, to: number }

/** The members of the object whose brace stands at `open`: their names, and from where to where their values go. */
function membersOf (plain: string, open: number): Member[] {
  const members: Member[] = []
  let depth = 0
  let name: string | undefined
  let from = open
  for (const { 0: token, index } of plain.slice(open).matchAll(/"(?:[^"\\\n]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const at = open + index
    const end = at + token.length
    if (token === '{' || token === '[') {
      if (depth++ === 1) from = at
    } else if (token === '}' || token === ']') {
      if (--depth === 0) return members
      if (depth === 1 && name !== undefined) {
        members.push({ name, from, to: end })
        name = undefined
      }
    } else if (depth === 1 && token !== ',' && token !== ':') {
      if (name === undefined) name = String(JSON.parse(token))
      else {
        members.push({ name, from: at, to: end })
        name = undefined
      }
    }
  }
  return members
}

/** Where the object of a section begins. Of a name that is there twice, the last counts, as in JSON.parse. */
function startOf (text: string, section: string): number {
  const plain = plainJson(text)
  const found = membersOf(plain, plain.indexOf('{')).findLast(({ name }) => name === section)
  if (found === undefined) throw new Error(`"${section}" was not found`)
  return found.from
}

/** Puts a member into the object at `open`: in the place of one of its name, or at the end. */
function put (text: string, open: number, name: string, value: object, unit: string, depth: number): string {
  const members = membersOf(plainJson(text), open)
  const indented = JSON.stringify(value, undefined, unit).replaceAll('\n', `\n${unit.repeat(depth)}`)
  const same = members.findLast(member => member.name === name)
  if (same !== undefined) return text.slice(0, same.from) + indented + text.slice(same.to)
  const member = `\n${unit.repeat(depth)}${JSON.stringify(name)}: ${indented}`
  const last = members.at(-1)
  if (last !== undefined) {
    const behind = text.slice(last.to)
    const [all = '', comma = '', comment = ''] = /^(,?)([ \t]*\/\/[^\n]*)?/.exec(behind) ?? [] // a comment stays on the line it is about
    return `${text.slice(0, last.to)},${comment}${member}${comma}${behind.slice(all.length)}`
  }
  const rest = text.slice(open + 1)
  return `${text.slice(0, open + 1)}${member}${/^\s*\}/.test(rest) ? `\n${unit.repeat(depth - 1)}${rest.trimStart()}` : rest}`
}
