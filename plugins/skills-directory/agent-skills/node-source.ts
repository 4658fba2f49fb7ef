import { parser } from '@lezer/javascript'
import { parseWithin } from '../shared/parse-within.ts'

export type Node = ReturnType<typeof parser.parse>['topNode']

/** The value of a literal in the source. */
export type Literal = string | number | boolean | null | readonly Literal[] | ReadonlyMap<string, Literal>

const typed = parser.configure({ dialect: 'ts' })
const depthMax = 20

/**
 * The syntax tree of a JavaScript or TypeScript module, and the values of its expressions, as far as they can be known
 * without running the module.
 */
export class NodeSource {
  readonly text: string
  readonly root: Node

  /** @throws Error when the text can't be parsed in time */
  constructor(text: string) {
    this.text = text
    this.root = parseWithin(typed, text).topNode
  }

  of({ from, to }: { from: number, to: number }): string {
    return this.text.slice(from, to)
  }

  all (names: readonly string[]): Node[] {
    const nodes: Node[] = []
    const cursor = this.root.cursor()
    do if (names.includes(cursor.name)) nodes.push(cursor.node)
    while (cursor.next())
    return nodes
  }

  /** The function that a call calls, its last name (`argument` in `program.option(…).argument`), and its arguments. */
  call (node: Node): { callee: string, name: string, callArgs: Node[] } {
    const callee = node.firstChild === null ? '' : this.of(node.firstChild)
    const callArgs = childrenOf(node.getChild('ArgList')).filter(
      ({ name }) => !['(', ')', ',', 'LineComment', 'BlockComment'].includes(name)
    )
    return { callee, name: /([\w$]+)\s*$/.exec(callee)?.[1] ?? '', callArgs }
  }

  /**
   * The value of an expression; of an object, the fields that are known. Undefined when the value can't be known
   * without running the module.
   */
  value (node: Node | null | undefined, depth = 0): Literal | undefined {
    if (node === null || node === undefined || depth > depthMax) return undefined
    switch (node.name) {
      case 'String':
        return unescape(this.of(node).slice(1, -1))
      case 'TemplateString':
        return node.getChild('Interpolation') === null
          ? unescape(this.of(node).slice(1, -1))
          : unescape(this.#filled(node))
      case 'Number':
        return Number(this.of(node).replaceAll('_', ''))
      case 'BooleanLiteral':
        return this.of(node) === 'true'
      case 'null':
        return null
      case 'ArrayExpression':
        return this.#items(node, depth)
      case 'ObjectExpression':
        return this.#fields(node, depth)
      case 'BinaryExpression': {
        const [left, operator, right] = childrenOf(node)
        const [a, b] = [this.value(left, depth + 1), this.value(right, depth + 1)]
        return operator !== undefined && this.of(operator) === '+' && typeof a === 'string' && typeof b === 'string'
          ? a + b
          : undefined
      }
      default:
        return undefined
    }
  }

  string (node: Node | null | undefined): string | undefined {
    const value = this.value(node)
    return typeof value === 'string' ? value : undefined
  }

  #filled (node: Node): string {
    let text = ''
    let from = node.from + 1
    for (const part of node.getChildren('Interpolation')) {
      text += `${this.of({ from, to: part.from })}…`
      from = part.to
    }
    return text + this.of({ from, to: node.to - 1 })
  }

  #items (node: Node, depth: number): Literal[] | undefined {
    const values = childrenOf(node)
      .filter(({ name }) => !['[', ']', ',', 'LineComment', 'BlockComment'].includes(name))
      .map(item => this.value(item, depth + 1))
    return values.every(value => value !== undefined) ? values : undefined
  }

  #fields (node: Node, depth: number): ReadonlyMap<string, Literal> | undefined {
    if (node.getChild('Spread') !== null) return undefined
    const fields = new Map<string, Literal>()
    for (const property of node.getChildren('Property')) {
      const [key] = childrenOf(property)
      const value = this.value(property.lastChild, depth + 1)
      if (property.getChild('Spread') !== null) return undefined
      if (key !== undefined && value !== undefined && property.getChild(':') !== null)
        fields.set(key.name === 'String' ? this.of(key).slice(1, -1) : this.of(key), value)
    }
    return fields
  }
}

export function childrenOf (node: Node | null): Node[] {
  const nodes: Node[] = []
  for (let child = node?.firstChild ?? null; child !== null; child = child.nextSibling) nodes.push(child)
  return nodes
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

function unescape (text: string): string {
  return text.replaceAll(/\\([\s\S])/g, (_whole, char: string) => escapes[char] ?? (char === '\n' ? '' : char))
}
