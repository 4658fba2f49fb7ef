import type { Node, PythonCall, PythonSource } from './python-source.ts'
import type { ScriptArgument } from './script-arguments.ts'

/** The declarations that a script makes to its argument parser. */
export interface ParserReading {
  description: string | undefined
  usage: string | undefined
  /** Undefined when they can't be known without running the script. */
  arguments: ScriptArgument[] | undefined
  /** Whether the script is known to refuse a call without arguments. */
  needs: boolean
}

interface FoundCall {
  node: Node
  call: PythonCall
}

/** The actions of options without a value, and of options with a value. */
const flagActions = new Set(['store_true', 'store_false', 'store_const', 'append_const', 'count'])
const valueActions = new Set(['store', 'append', 'extend'])
/** Statements and expressions that may run a call several times, or not at all. */
const branches = new Set([
  'ForStatement',
  'WhileStatement',
  'ConditionalExpression',
  'ArrayComprehensionExpression',
  'LambdaExpression'
])

/** Reads `argparse.ArgumentParser(…)` and its `add_argument(…)`; undefined when the script has no such parser. */
export function readArgparse (source: PythonSource, all: readonly FoundCall[]): ParserReading | undefined {
  const made = all.filter(({ call }) => /^(?:argparse\.)?ArgumentParser$/.test(call.name))
  const [parser] = made
  if (parser === undefined) return undefined
  const { named, spread } = parser.call
  const { receivers, exclusive } = receiversOf(source, parser.node, all)
  const adding = all.filter(({ call: { name } }) => name.endsWith('.add_argument'))
  const readings = adding.map(({ node, call }) => {
    const receiver = call.name.slice(0, -'.add_argument'.length)
    return receivers.has(receiver) && isUnconditional(node)
      ? readArgument(source, call, exclusive.has(receiver))
      : undefined
  })
  const commands = all.filter(({ call }) => call.name.endsWith('.add_subparsers'))
  const dynamic =
    made.length > 1
    || spread
    || named.has('parents')
    || commands.length > 0
    || readings.includes(undefined)
    || all.some(({ call: { name } }) => /\.parse_known_(?:intermixed_)?args$/.test(name))
    || isPassedOn(source, all, receivers)
  const read = readings.flatMap(args => args ?? [])
  return {
    description: source.string(named.get('description')),
    usage: source.string(named.get('usage')),
    arguments: dynamic ? undefined : read,
    needs:
      read.some(({ required }) => required)
      || commands.some(({ call }) => source.value(call.named.get('required')) === true)
  }
}

/** The variables of the parser and its groups; `exclusive` has the groups whose arguments exclude each other. */
function receiversOf (
  source: PythonSource,
  parser: Node,
  all: readonly FoundCall[]
): { receivers: Set<string>, exclusive: Set<string> } {
  const receivers = new Set([assignedTo(source, parser) ?? 'parser'])
  const exclusive = new Set<string>()
  for (const {
    node,
    call: { name }
  } of all) {
    const [, of = '', kind] = /^(\w+)\.add_(argument|mutually_exclusive)_group$/.exec(name) ?? []
    const group = assignedTo(source, node)
    if (group === undefined || !receivers.has(of)) continue
    receivers.add(group)
    if (kind === 'mutually_exclusive' || exclusive.has(of)) exclusive.add(group)
  }
  return { receivers, exclusive }
}

/** Whether the parser or a group is passed to another function, which may add arguments to it. */
function isPassedOn (source: PythonSource, all: readonly FoundCall[], receivers: ReadonlySet<string>): boolean {
  const isReceiver = (node: Node): boolean => node.name === 'VariableName' && receivers.has(source.of(node))
  return all.some(
    ({ call: { positional, named } }) => positional.some(isReceiver) || [...named.values()].some(isReceiver)
  )
}

function assignedTo (source: PythonSource, { parent }: Node): string | undefined {
  const target = parent?.name === 'AssignStatement' ? parent.firstChild : null
  return target?.name === 'VariableName' ? source.of(target) : undefined
}

/** Whether a call always runs exactly once. The guard of the main program is not a condition here. */
function isUnconditional (node: Node): boolean {
  for (let at = node.parent; at !== null; at = at.parent) {
    if (branches.has(at.name) || (at.name === 'IfStatement' && at.parent?.name !== 'Script')) return false
  }
  return true
}

/**
 * Reads `add_argument(…)`.
 * @returns one argument; two for a flag and its opposite; none for `--help` or `--version`; undefined when the argument
 * can't be known without running the script
 */
function readArgument (source: PythonSource, call: PythonCall, exclusive: boolean): ScriptArgument[] | undefined {
  const { named, spread } = call
  const names = call.positional.map(node => source.string(node)).filter(name => name !== undefined)
  const [first] = names
  if (spread || first === undefined || names.length < call.positional.length) return undefined
  const option = first.startsWith('-')
  const flag = names.find(name => name.startsWith('--')) ?? first
  const name = option ? flag.replace(/^-+/, '') : first
  const common = { name, description: helpOf(source, named, name) }
  const actionNode = named.get('action')
  if (actionNode !== undefined && source.of(actionNode).endsWith('BooleanOptionalAction')) return flagPair(common, flag)
  const action = actionNode === undefined ? 'store' : source.value(actionNode)
  if (action === 'version' || action === 'help') return []
  if (typeof action !== 'string') return undefined
  if (option && flagActions.has(action)) return [{ ...common, kind: 'flag', flag, type: 'string', required: false }]
  if (!valueActions.has(action)) return undefined
  const many = manyOf(source, named.get('nargs'))
  if (many === 'unknown') return undefined
  return [
    {
      ...common,
      ...valueOf(source, named, exclusive || action !== 'store'),
      ...(option
        ? { kind: 'option', flag, required: source.value(named.get('required')) === true }
        : { kind: 'positional', required: many === undefined || (many !== 'optional' && many.least > 0) }),
      ...(typeof many === 'object' && { values: many }),
      ...(action !== 'store' && many === undefined && { repeated: true })
    }
  ]
}

type Named = Pick<ScriptArgument, 'name' | 'description'>

function flagPair ({ name, description }: Named, flag: string): ScriptArgument[] {
  const of = (name: string, flag: string, description: string): ScriptArgument => ({
    name,
    kind: 'flag',
    flag,
    type: 'string',
    required: false,
    description
  })
  return [of(name, flag, description), of(`no_${name}`, flag.replace(/^--/, '--no-'), `The opposite of ${flag}`)]
}

/** The type, choices and default of an argument's value. */
export function valueOf (
  source: PythonSource,
  named: PythonCall['named'],
  withoutDefault: boolean
): Pick<ScriptArgument, 'type' | 'choices' | 'default'> {
  const typeNode = named.get('type')
  const kind =
    typeNode === undefined
      ? ''
      : source
          .of(typeNode)
          .replace(/^click\./, '')
          .toLowerCase()
  const type =
    kind === 'int' || kind.startsWith('intrange')
      ? 'integer'
      : kind === 'float' || kind.startsWith('floatrange')
        ? 'number'
        : 'string'
  const choices = choicesOf(source, named)
  const initial = source.value(named.get('default'))
  const preset = !withoutDefault && (typeof initial === 'string' || typeof initial === 'number') && initial !== ''
  return { type, ...(choices !== undefined && { choices }), ...(preset && { default: initial }) }
}

/** The choices in `choices=["a", "b"]`, `type=click.Choice(["a", "b"])` or `metavar="true|false"`. */
function choicesOf (source: PythonSource, named: PythonCall['named']): (string | number)[] | undefined {
  const typeNode = named.get('type')
  const choice = typeNode?.name === 'CallExpression' ? source.call(typeNode) : undefined
  const values = source.value(
    named.get('choices') ?? (choice?.name.endsWith('Choice') === true ? choice.positional[0] : undefined)
  )
  if (Array.isArray(values)) {
    const plain = values.filter(value => typeof value === 'string' || typeof value === 'number')
    return plain.length === values.length && plain.length > 0 ? [...new Set(plain)] : undefined
  }
  const metavar = source.string(named.get('metavar'))
  return metavar !== undefined && /^[a-z0-9_-]+(?:\|[a-z0-9_-]+)+$/.test(metavar) ? metavar.split('|') : undefined
}

function manyOf (source: PythonSource, nargs: Node | undefined): ScriptArgument['values'] | 'optional' | 'unknown' {
  if (nargs === undefined) return undefined
  if (/(?:^|\.)REMAINDER$/.test(source.of(nargs))) return { least: 0, rest: true }
  const value = source.value(nargs)
  switch (value) {
    case null:
      return undefined
    case '?':
      return 'optional'
    case '*':
      return { least: 0 }
    case '+':
      return { least: 1 }
    case '...':
      return { least: 0, rest: true }
    default:
      return typeof value === 'number' && value >= 1 ? { least: value, most: value } : 'unknown'
  }
}

/**
 * The help text of an argument, with its placeholders replaced and the default added where the text does not name it.
 */
export function helpOf (source: PythonSource, named: PythonCall['named'], name: string): string {
  const help = source.string(named.get('help')) ?? ''
  const initial = source.value(named.get('default'))
  const preset =
    initial === undefined || initial === null || initial === '' || initial === '==SUPPRESS=='
      ? undefined
      : String(initial)
  const filled = help
    .replaceAll(/%\((\w+)\)[sdrf]/g, (_whole, key: string) =>
      key === 'default' ? (preset ?? 'none') : key === 'dest' ? name : key === 'prog' ? 'it' : '…'
    )
    .replaceAll('%%', '%')
  const mentioned = preset === undefined || typeof initial === 'boolean' || /default/i.test(filled)
  return mentioned ? filled : `${filled}${filled === '' ? '' : ' '}(default: ${preset})`
}
