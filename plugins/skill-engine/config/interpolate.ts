import { isServersOwn } from '../../../kernel/index.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** The name of a variable that is not set, or the message that its place asks for. */
export class UnsetVariable extends Error {}

/**
 * Fills in `${NAME}`, `${NAME:-text}` and `${NAME:?message}`. The text is not filled in once more. Variables that hold
 * secrets of the server count as not set.
 * @throws UnsetVariable
 */
export function interpolate (text: string, variables: Variables): string {
  let filled = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('${', at)
    const end = start === -1 ? -1 : closing(text, start + 2)
    if (start === -1 || end === -1) return filled + text.slice(at)
    filled += text.slice(at, start) + valueOf(text.slice(start + 2, end), variables)
    at = end + 1
  }
}

/** The place of the brace that closes; braces within count. */
function closing (text: string, from: number): number {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return -1
}

function valueOf (inner: string, variables: Variables): string {
  const [, name = '', sign, rest = ''] = /^([^:]*)(?::([-?])([\s\S]*))?$/.exec(inner) ?? []
  const value = name !== '' && Object.hasOwn(variables, name) && !isServersOwn(name) ? variables[name] : undefined
  if (value !== undefined) return value
  if (sign === '-') return rest
  if (sign === '?' && rest !== '') throw new UnsetVariable(`the variable ${name} is not set: ${rest}`)
  throw new UnsetVariable(`the variable ${name === '' ? inner : name} is not set`)
}
