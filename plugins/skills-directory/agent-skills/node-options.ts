import { childrenOf, type Literal, type Node, type NodeSource } from './node-source.ts'
import type { ScriptArgument } from './script-arguments.ts'

/** The options and arguments that a script declares to its argument parser. */
export interface OptionsReading {
  description: string | undefined
  usage: string | undefined
  /** Undefined when they can't be known without running the script. */
  arguments: ScriptArgument[] | undefined
  needs: boolean
}

interface Call {
  node: Node
  callee: string
  name: string
  callArgs: Node[]
}
type Fields = ReadonlyMap<string, Literal>

/** Reads the declarations for `parseArgs`, commander or yargs; undefined when the script uses no argument parser. */
export function readOptions (
  source: NodeSource,
  calls: readonly Call[],
  imported: ReadonlySet<string>
): OptionsReading | undefined {
  const parse = calls.filter(({ callee }) => /(?:^|\.)parseArgs$/.test(callee))
  if (parse.length > 0) return reading(parse.length === 1 ? readParseArgs(source, parse[0]?.callArgs[0]) : undefined)
  if (imported.has('commander')) return readCommander(source, calls)
  if (imported.has('yargs')) return readYargs(source, calls)
  if (
    ['minimist', 'cac', 'meow', 'arg', 'mri', 'command-line-args', 'citty', '@oclif/core', 'clipanion', 'sade'].some(
      name => imported.has(name)
    )
  )
    return reading(undefined)
  return undefined
}

function reading (args: ScriptArgument[] | undefined, more: Partial<OptionsReading> = {}): OptionsReading {
  return {
    description: undefined,
    usage: undefined,
    arguments: args,
    needs: args?.some(({ required }) => required) ?? false,
    ...more
  }
}

/** Reads `parseArgs({ options: { name: { type: 'string', … } }, allowPositionals: true })`. */
function readParseArgs (source: NodeSource, config: Node | undefined): ScriptArgument[] | undefined {
  const property = (name: string): Node | undefined =>
    config?.getChildren('Property').find(({ firstChild }) => firstChild !== null && source.of(firstChild) === name)
  const options = source.value(property('options')?.lastChild)
  if (config === undefined || (property('options') !== undefined && !isFields(options))) return undefined
  const args: ScriptArgument[] = []
  for (const [name, fields] of isFields(options) ? options : []) {
    if (!isFields(fields)) return undefined
    const initial = fields.get('default')
    const common = { name, flag: `--${name}`, description: '', required: false, type: 'string' } as const
    if (fields.get('type') === 'boolean') args.push({ ...common, kind: 'flag' })
    else
      args.push({
        ...common,
        kind: 'option',
        ...(fields.get('multiple') === true
          ? { repeated: true }
          : typeof initial === 'string' && initial !== '' && { default: initial })
      })
  }
  if (source.value(property('allowPositionals')?.lastChild) === true) args.push(rest('operands', 0))
  return args
}

function rest (name: string, least: number, description = 'What follows the options'): ScriptArgument {
  return { name, kind: 'positional', type: 'string', description, required: least > 0, values: { least } }
}

/** Reads `.option('-o, --out <file>', 'Where', 'a.txt')` and `.argument('<in>', 'What')`. */
function readCommander (source: NodeSource, calls: readonly Call[]): OptionsReading {
  const text = (name: string): string | undefined => source.string(calls.find(call => call.name === name)?.callArgs[0])
  const args: ScriptArgument[] = []
  let whole = !calls.some(({ name }) =>
    ['command', 'addCommand', 'addOption', 'addArgument', 'allowUnknownOption', 'arguments'].includes(name)
  )
  for (const { name, callArgs } of inOrder(calls)) {
    if (!['option', 'requiredOption', 'argument'].includes(name)) continue
    const [form, about = ''] = callArgs.map(node => source.string(node))
    const initial = source.value(callArgs.at(-1))
    const argument =
      form === undefined
        ? undefined
        : name === 'argument'
          ? commanderArgument(form, about)
          : commanderOption(form, about, name === 'requiredOption', callArgs.length > 2 ? initial : undefined)
    if (argument === undefined) whole = false
    else args.push(argument)
  }
  const required = args.some(argument => argument.required)
  return reading(whole ? args : undefined, { description: text('description'), usage: undefined, needs: required })
}

/** Sorts calls by their position in the text: in the tree, a call of a chain is inside the calls that follow it. */
function inOrder (calls: readonly Call[]): Call[] {
  return calls.toSorted((a, b) => (childrenOf(a.node).at(-1)?.from ?? 0) - (childrenOf(b.node).at(-1)?.from ?? 0))
}

function commanderArgument (form: string, about: string): ScriptArgument | undefined {
  const [, open, name, dots, shut] =
    /^([<[])([\w-]+)(\.\.\.)?([>\]])$/.exec(/^\w/.test(form) ? `<${form}>` : form) ?? []
  if (name === undefined || (open === '<') !== (shut === '>')) return undefined
  const required = open === '<'
  return dots === undefined
    ? { name, kind: 'positional', type: 'string', description: about, required }
    : rest(name, required ? 1 : 0, about)
}

function commanderOption (
  form: string,
  about: string,
  required: boolean,
  initial: Literal | undefined
): ScriptArgument | undefined {
  const [, flag, value] = /(--?[\w-]+)(?:[ =]([<[].*))?$/.exec(form.trim()) ?? []
  if (flag === undefined) return undefined
  const name = flag.replace(/^-+/, '')
  const common = { name, flag, description: about, type: 'string' } as const
  if (value === undefined) return { ...common, kind: 'flag', required: false }
  if (value.includes('...')) return { ...common, kind: 'option', required, values: { least: 1 } }
  return {
    ...common,
    kind: 'option',
    required,
    ...(typeof initial === 'string' && initial !== '' && { default: initial })
  }
}

/** Reads `.option('name', { type, demandOption, describe, choices, default })`. */
function readYargs (source: NodeSource, calls: readonly Call[]): OptionsReading {
  const usage = source
    .string(calls.find(({ name, callee }) => name === 'usage' && callee.includes('.'))?.callArgs[0])
    ?.replace(/^usage:\s*/i, '')
  const demanded = calls.find(({ name }) => name === 'demandCommand')
  const least = demanded === undefined ? 0 : Number(source.value(demanded.callArgs[0]) ?? 1)
  const args: ScriptArgument[] = []
  let whole = !calls.some(({ name }) =>
    ['command', 'options', 'positional', 'commandDir', 'boolean', 'array', 'demandOption'].includes(name)
  )
  for (const { name, callArgs } of inOrder(calls)) {
    if (name !== 'option') continue
    const [called, fields] = [source.string(callArgs[0]), source.value(callArgs[1])]
    const argument = called === undefined || !isFields(fields) ? undefined : yargsOption(called, fields)
    if (argument === undefined) whole = false
    else args.push(argument)
  }
  if (least > 0 || /\._\b/.test(source.text)) args.push(rest('operands', least))
  return reading(whole ? args : undefined, { usage, needs: least > 0 || args.some(({ required }) => required) })
}

function yargsOption (name: string, fields: Fields): ScriptArgument | undefined {
  const kind = fields.get('type')
  const about = fields.get('describe') ?? fields.get('description') ?? fields.get('desc')
  const choices = fields.get('choices')
  const initial = fields.get('default')
  const plain = Array.isArray(choices)
    ? choices.filter(choice => typeof choice === 'string' || typeof choice === 'number')
    : undefined
  const common = {
    name,
    flag: name.length === 1 ? `-${name}` : `--${name}`,
    description: typeof about === 'string' ? about : ''
  }
  if (kind === 'boolean' || kind === 'count') return { ...common, kind: 'flag', type: 'string', required: false }
  const required =
    fields.get('demandOption') === true || fields.get('required') === true || fields.get('demand') === true
  const value = { ...common, kind: 'option', type: kind === 'number' ? 'number' : 'string', required } as const
  if (kind === 'array' || fields.get('array') === true) return { ...value, repeated: true }
  return {
    ...value,
    ...(plain !== undefined && plain.length > 0 && { choices: plain }),
    ...((typeof initial === 'string' || typeof initial === 'number') && { default: initial })
  }
}

function isFields (value: Literal | undefined): value is Fields {
  return value instanceof Map
}
