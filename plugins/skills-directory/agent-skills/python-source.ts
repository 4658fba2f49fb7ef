import { parser } from '@lezer/python'
import { parseWithin } from '../shared/parse-within.ts'
import { decode, dedent, numberOf, unescape } from './python-strings.ts'

export type Node = ReturnType<typeof parser.parse>['topNode']

/** The value of an expression in the source, as far as it can be known without running the script. */
export type Literal = string | number | boolean | null | readonly Literal[]

export interface PythonCall {
  /** The called name, such as `argparse.ArgumentParser`. */
  name: string
  positional: Node[]
  named: Map<string, Node>
  /** Whether it has `*list` or `**table`, whose values can't be known. */
  spread: boolean
}

/** The maximum depth of an expression that is evaluated. */
const depthMax = 20

/** The syntax tree of a Python script, and the values of its expressions that can be known without running it. */
export class PythonSource {
  readonly text: string
  readonly root: Node
  /** The module's docstring, cleaned. */
  readonly docstring: string | undefined
  readonly #constants = new Map<string, Node>()

  /** @throws Error when the text can't be parsed in time */
  constructor(text: string) {
    this.text = text
    this.root = parseWithin(parser, text).topNode
    this.docstring = this.docstringAt(childrenOf(this.root).find(({ name }) => name !== 'Comment'))
    const assigned = new Set<string>()
    for (const statement of childrenOf(this.root)) {
      if (statement.name !== 'AssignStatement') continue
      const [target] = childrenOf(statement)
      const value = statement.lastChild
      if (target?.name !== 'VariableName' || value === null) continue
      const name = this.of(target)
      if (assigned.has(name)) this.#constants.delete(name)
      else this.#constants.set(name, value)
      assigned.add(name)
    }
  }

  /** The text of a node. */
  of({ from, to }: { from: number, to: number }): string {
    return this.text.slice(from, to)
  }

  /** The text of a statement that is a docstring; otherwise undefined. */
  docstringAt (statement: Node | undefined): string | undefined {
    const inner = statement?.name === 'ExpressionStatement' ? statement.firstChild : null
    if (inner?.name !== 'String' && inner?.name !== 'ContinuedString') return undefined
    const value = this.value(inner)
    return typeof value === 'string' ? dedent(value) : undefined
  }

  /** All nodes with one of these names, below a node (by default the whole source), in the order of the text. */
  all (names: readonly string[], within: Node = this.root): Node[] {
    const nodes: Node[] = []
    const cursor = within.cursor()
    do if (names.includes(cursor.name) && cursor.from >= within.from && cursor.to <= within.to) nodes.push(cursor.node)
    while (cursor.next() && cursor.from < within.to)
    return nodes
  }

  /** The name and the arguments of a call, or of a decorator. */
  call (node: Node): PythonCall {
    const list = node.getChild('ArgList')
    const end = list?.from ?? node.to
    const from = node.name === 'Decorator' ? node.from + 1 : node.from
    const call: PythonCall = {
      name: this.of({ from, to: end }).replace(/\s+/g, ''),
      positional: [],
      named: new Map(),
      spread: false
    }
    for (const [first, second, third] of argumentsOf(list)) {
      if (first === undefined) continue
      if (first.name === '*' || first.name === '**') call.spread = true
      else if (second?.name === 'AssignOp' && third !== undefined) call.named.set(this.of(first), third)
      else call.positional.push(first)
    }
    return call
  }

  /** The value of an expression; undefined when it can't be known without running the script. */
  value (node: Node | null | undefined, depth = 0): Literal | undefined {
    if (node === null || node === undefined || depth > depthMax) return undefined
    switch (node.name) {
      case 'String':
        return decode(this.of(node))
      case 'ContinuedString':
        return this.#joined(childrenOf(node), depth)
      case 'FormatString':
        return this.#formatted(node, depth)
      case 'Number':
        return numberOf(this.of(node))
      case 'Boolean':
        return this.of(node) === 'True'
      case 'None':
        return null
      case 'VariableName':
        return this.of(node) === '__doc__' ? this.docstring : this.value(this.#constants.get(this.of(node)), depth + 1)
      case 'UnaryExpression': {
        const value = this.value(node.lastChild, depth + 1)
        return typeof value === 'number' && this.of(node).startsWith('-') ? -value : undefined
      }
      case 'ParenthesizedExpression':
        return this.value(childrenOf(node)[1], depth + 1)
      case 'ArrayExpression':
      case 'TupleExpression':
      case 'SetExpression':
        return this.#items(childrenOf(node).filter(isItem), depth)
      case 'DictionaryExpression':
        return this.#items(keysOf(node), depth)
      case 'BinaryExpression':
        return this.#sum(node, depth)
      case 'CallExpression':
        return this.#called(node, depth)
      default:
        return undefined
    }
  }

  /** The value of an expression that is a string; otherwise undefined. */
  string (node: Node | null | undefined): string | undefined {
    const value = this.value(node)
    return typeof value === 'string' ? value : undefined
  }

  #joined (nodes: readonly Node[], depth: number): string | undefined {
    const texts = nodes.map(node => this.value(node, depth + 1))
    return texts.every(text => typeof text === 'string') ? texts.join('') : undefined
  }

  #items (nodes: readonly Node[], depth: number): Literal[] | undefined {
    const values = nodes.map(node => this.value(node, depth + 1))
    return values.every(value => value !== undefined) ? values : undefined
  }

  /** The text of an f-string, with `…` in place of values that are not known. */
  #formatted (node: Node, depth: number): string {
    const text = this.of(node)
    const quote = /^[A-Za-z]*("""|'''|"|')/.exec(text)
    const end = node.to - (quote?.[1]?.length ?? 1)
    let from = node.from + (quote?.[0].length ?? 1)
    let filled = ''
    for (const part of node.getChildren('FormatReplacement')) {
      const value = this.value(childrenOf(part)[1], depth + 1)
      filled +=
        this.of({ from, to: part.from }) +
        (typeof value === 'string' || typeof value === 'number' ? String(value) : '…')
      from = part.to
    }
    return unescape(filled + this.of({ from, to: end }))
      .replaceAll('{{', '{')
      .replaceAll('}}', '}')
  }

  #sum (node: Node, depth: number): string | undefined {
    const [left, operator, right] = childrenOf(node)
    return operator !== undefined && this.of(operator) === '+' && left !== undefined && right !== undefined
      ? this.#joined([left, right], depth)
      : undefined
  }

  /** The value of a call that only changes the form of its argument: `list(NAMES)`, `NAMES.keys()`, `dedent("…")`. */
  #called (node: Node, depth: number): Literal | undefined {
    const {
      name,
      positional: [first]
    } = this.call(node)
    if (
      [
        'list',
        'tuple',
        'sorted',
        'set',
        'str',
        'Path',
        'pathlib.Path',
        'textwrap.dedent',
        'dedent',
        'inspect.cleandoc'
      ].includes(name)
    )
      return this.value(first, depth + 1)
    const [, of] = /^(\w+)\.(?:keys|strip)$/.exec(name) ?? []
    if (of === '__doc__') return this.docstring
    return of === undefined ? undefined : this.value(this.#constants.get(of), depth + 1)
  }
}

export function childrenOf (node: Node): Node[] {
  const nodes: Node[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) nodes.push(child)
  return nodes
}

/** The names of a function's positional parameters. */
export function parametersOf (source: PythonSource, definition: Node): string[] {
  return argumentsOf(definition.getChild('ParamList')).flatMap(([first]) =>
    first?.name === 'VariableName' ? [source.of(first)] : []
  )
}

/** The nodes of each item in a list in parentheses. */
function argumentsOf (list: Node | null): Node[][] {
  const groups: Node[][] = [[]]
  for (const child of list === null ? [] : childrenOf(list)) {
    if (child.name === ',') groups.push([])
    else if (child.name !== '(' && child.name !== ')' && child.name !== 'Comment') groups.at(-1)?.push(child)
  }
  return groups
}

function isItem ({ name }: Node): boolean {
  return !['[', ']', '(', ')', '{', '}', ',', 'Comment'].includes(name)
}

function keysOf (dictionary: Node): Node[] {
  return childrenOf(dictionary).filter(({ nextSibling }) => nextSibling?.name === ':')
}
