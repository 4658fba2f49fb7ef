import { childrenOf, parametersOf, type Node, type PythonSource } from './python-source.ts'
import type { ScriptArgument } from './script-arguments.ts'
import { placeholdersOf } from './script-usage.ts'

/** The arguments of a script that reads `sys.argv` itself. */
export interface ArgvReading {
  /** Undefined when they can't be known without running the script. */
  arguments: ScriptArgument[] | undefined
  /** The minimum number of arguments, as far as it is known. */
  least: number
  /** Whether the script uses the whole list, for example passes it on or loops over it. */
  passes: boolean
}

interface Use {
  index: number
  node: Node
  guarded: boolean
}
interface Bounds {
  least: number
  most: number
}

/** The maximum number of positional arguments that are read. */
const placesMax = 20

/** Reads the uses of `sys.argv`; undefined when the script does not use it. */
export function readArgv (source: PythonSource, usage: string | undefined): ArgvReading | undefined {
  const argvNodes = source.all(['MemberExpression', 'VariableName']).filter(node => isArgv(source, node))
  if (argvNodes.length === 0) return undefined
  const bounds: Bounds = { least: 0, most: Infinity }
  const uses: Use[] = []
  let passes = false
  for (const node of argvNodes) {
    const compared = comparisonOf(source, node)
    if (compared !== undefined) limit(bounds, source, compared)
    else if (indexOf(source, node) === undefined) passes ||= !isLength(source, node)
    else uses.push({ index: indexOf(source, node) ?? 0, node: node.parent ?? node, guarded: isGuarded(source, node) })
  }
  const places = uses.filter(({ index }) => index >= 1)
  const needed = places.filter(({ guarded }) => !guarded).reduce((most, { index }) => Math.max(most, index), 0)
  const least = Math.max(bounds.least, needed)
  const count = Math.max(
    least,
    places.reduce((most, { index }) => Math.max(most, index), 0)
  )
  const whole = !passes && count > 0 && count <= placesMax && (bounds.most === Infinity || bounds.most === count)
  const named = whole ? argumentsOf(source, places, count, least, usage) : []
  return { arguments: whole && named.length === count ? named : undefined, least, passes }
}

function isArgv (source: PythonSource, node: Node): boolean {
  if (node.name === 'MemberExpression') return /^(?:sys|_sys)\s*\.\s*argv$/.test(source.of(node))
  return (
    source.of(node) === 'argv'
    && node.parent?.name !== 'ImportStatement'
    && /^\s*from sys import [^\n]*\bargv\b/m.test(source.text)
  )
}

function isLength (source: PythonSource, node: Node): boolean {
  const call = node.parent?.parent
  return call?.name === 'CallExpression' && source.call(call).name === 'len'
}

/** The comparison of a length, such as `len(sys.argv) != 3`. */
function comparisonOf (source: PythonSource, node: Node): Node | undefined {
  const call = isLength(source, node) ? node.parent?.parent : undefined
  return call?.parent?.name === 'BinaryExpression' ? call.parent : undefined
}

/** The index in `sys.argv[1]`; undefined for any other expression. */
function indexOf (source: PythonSource, { parent, to }: Node): number | undefined {
  if (parent?.name !== 'MemberExpression') return undefined
  const [, index] = /^\s*\[\s*(\d+)\s*\]$/.exec(source.of({ from: to, to: parent.to })) ?? []
  return index === undefined ? undefined : Number(index)
}

/** Narrows the number of arguments by a comparison that ends the script when it is true. */
function limit (bounds: Bounds, source: PythonSource, comparison: Node): void {
  const statement = conditionOf(comparison)
  const body = statement?.getChild('Body')
  if (body === null || body === undefined || !ends(source, body)) return
  const parts = childrenOf(comparison)
  const [operator, right] = [
    parts
      .slice(1, -1)
      .map(part => source.of(part))
      .join(' '),
    source.value(parts.at(-1))
  ]
  const counts = (Array.isArray(right) ? right : [right])
    .filter(count => typeof count === 'number')
    .map(count => count - 1)
  if (counts.length === 0) return
  const [low, high] = [Math.min(...counts), Math.max(...counts)]
  if (operator === '!=' || operator === 'not in') Object.assign(bounds, { least: low, most: high })
  else if (operator === '<') bounds.least = low
  else if (operator === '<=' || (operator === '==' && low === bounds.least)) bounds.least = low + 1
  else if (operator === '>') bounds.most = high
}

/** The `if` statement whose condition is the comparison, alone or as an operand of `or`. */
function conditionOf (comparison: Node): Node | undefined {
  let at = comparison
  for (;;) {
    const { parent } = at
    if (parent === null) return undefined
    if (parent.name === 'IfStatement') return at.from < (parent.getChild('Body')?.from ?? 0) ? parent : undefined
    const either = parent.name === 'BinaryExpression' && parent.getChild('or') !== null
    if (!either && parent.name !== 'ParenthesizedExpression') return undefined
    at = parent
  }
}

/** Whether the last statement of a block leaves the function or ends the script. */
function ends (source: PythonSource, body: Node): boolean {
  const last = childrenOf(body).at(-1)
  if (last === undefined) return false
  if (last.name === 'RaiseStatement' || last.name === 'ReturnStatement') return true
  const call = last.name === 'ExpressionStatement' ? last.firstChild : null
  return (
    call?.name === 'CallExpression'
    && /^(?:sys\.exit|exit|quit|os\._exit|usage|print_usage|die|fail)$/.test(source.call(call).name)
  )
}

/** Whether the script reads an argument only after it has checked that the argument exists. */
function isGuarded (source: PythonSource, node: Node): boolean {
  for (let at = node; at.parent !== null; at = at.parent) {
    const { parent } = at
    if (parent.name === 'TryStatement' && source.of(parent).includes('IndexError')) return true
    if (deciding(parent, at).some(other => /\bargv\b/.test(source.of(other)))) return true
  }
  return false
}

/** The conditions that decide whether a part of an expression or statement is evaluated. */
function deciding (whole: Node, part: Node): Node[] {
  const otherNodes = childrenOf(whole).filter(({ from }) => from !== part.from)
  switch (whole.name) {
    case 'ConditionalExpression':
      return otherNodes
    case 'BinaryExpression':
      return whole.getChild('and') === null && whole.getChild('or') === null
        ? []
        : otherNodes.filter(({ from }) => from < part.from)
    case 'IfStatement':
      return part.name === 'Body' ? otherNodes.filter(({ name }) => name !== 'Body') : []
    default:
      return []
  }
}

/** The arguments whose names are known, from variables of the script or from its usage. */
function argumentsOf (
  source: PythonSource,
  uses: readonly Use[],
  count: number,
  least: number,
  usage: string | undefined
): ScriptArgument[] {
  const placeholders = usage === undefined ? [] : placeholdersOf(usage)
  return Array.from({ length: count }).flatMap((_, i): ScriptArgument[] => {
    const shown = placeholders.length === count ? placeholders[i] : undefined
    const own = uses
      .filter(({ index }) => index === i + 1)
      .map(({ node }) => nameOf(source, node))
      .find(name => name !== undefined)
    const name = own?.name ?? shown?.name
    if (name === undefined) return []
    return [
      {
        name,
        kind: 'positional',
        type: own?.type ?? 'string',
        description: (shown?.text ?? name).replaceAll('_', ' '),
        required: i < least
      }
    ]
  })
}

const types: Readonly<Record<string, ScriptArgument['type']>> = { int: 'integer', float: 'number' }
/** Functions and methods whose result is the same value in another form. */
const wrapper =
  /^(?:int|float|str|(?:pathlib\.)?Path|os\.path\.\w+|os\.fspath)$|\.(?:strip|lower|upper|resolve|absolute|expanduser)$/

/** The name that the script gives to the value: the variable that it is assigned to, or the parameter of a function. */
function nameOf (source: PythonSource, node: Node): { name: string, type: ScriptArgument['type'] } | undefined {
  let type: ScriptArgument['type'] = 'string'
  let argument = node
  for (let at = node; at.parent !== null; at = at.parent) {
    const { parent } = at
    if (parent.name === 'ArgList') argument = at
    if (parent.name === 'AssignStatement') {
      const target = parent.firstChild
      return target?.name === 'VariableName' ? { name: source.of(target), type } : undefined
    }
    if (parent.name === 'CallExpression') {
      const call = source.call(parent)
      type = types[call.name] ?? type
      const parameter = parameterFor(source, parent, argument)
      if (parameter !== undefined) return { name: parameter, type }
      if (!wrapper.test(call.name)) return undefined
    } else if (
      !['ArgList', 'ConditionalExpression', 'ParenthesizedExpression', 'MemberExpression'].includes(parent.name)
    )
      return undefined
  }
  return undefined
}

/** The name of the parameter to which a call of one of the script's functions passes the value. */
function parameterFor (source: PythonSource, node: Node, argument: Node): string | undefined {
  const call = source.call(node)
  const place = call.positional.findIndex(({ from }) => from === argument.from)
  const definition = source.root
    .getChildren('FunctionDefinition')
    .find(node => source.of(node.getChild('VariableName') ?? { from: 0, to: 0 }) === call.name)
  return place < 0 || definition === undefined ? undefined : parametersOf(source, definition)[place]
}
