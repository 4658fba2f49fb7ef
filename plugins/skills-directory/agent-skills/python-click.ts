import { helpOf, valueOf, type ParserReading } from './python-argparse.ts'
import { childrenOf, parametersOf, type Node, type PythonCall, type PythonSource } from './python-source.ts'
import type { ScriptArgument } from './script-arguments.ts'

/**
 * Reads `@click.command()` with its options and arguments; undefined when the script has no command. With several
 * commands, the arguments are not known.
 */
export function readClick (source: PythonSource): ParserReading | undefined {
  const decorated = source.all(['DecoratedStatement']).map(node => ({
    node,
    calls: childrenOf(node)
      .filter(({ name }) => name === 'Decorator')
      .map(decorator => source.call(decorator))
  }))
  const groups = decorated.filter(({ calls }) => calls.some(({ name }) => /^(?:click\.)?group$/.test(name)))
  const commands = decorated.filter(({ calls }) =>
    calls.some(({ name }) => /^(?:click\.)?command$|\.command$/.test(name))
  )
  const [command] = [...groups, ...commands]
  if (command === undefined) return undefined
  const definition = command.node.getChild('FunctionDefinition')
  const own = command.calls.find(({ name }) => /(?:command|group)$/.test(name))
  const description = source.string(own?.named.get('help')) ?? docstringOf(source, definition)
  const read = groups.length > 0 || commands.length > 1 ? undefined : readAll(source, command.calls, definition)
  return { description, usage: undefined, arguments: read, needs: read?.some(({ required }) => required) ?? false }
}

function docstringOf (source: PythonSource, definition: Node | null): string | undefined {
  const body = definition?.getChild('Body')
  return body === null || body === undefined
    ? undefined
    : source.docstringAt(childrenOf(body).find(({ name }) => name !== ':' && name !== 'Comment'))
}

function readAll (
  source: PythonSource,
  calls: readonly PythonCall[],
  definition: Node | null
): ScriptArgument[] | undefined {
  const taken = definition === null ? [] : parametersOf(source, definition)
  const args: ScriptArgument[] = []
  for (const call of calls) {
    const kind = /^(?:click\.)?(option|argument)$/.exec(call.name)?.[1]
    if (kind === undefined) {
      if (/^(?:click\.)?(?:command|version_option|help_option|pass_context|pass_obj)$/.test(call.name)) continue
      return undefined // a decorator of the script's own may add options
    }
    const read = kind === 'option' ? readOption(source, call, taken) : readPositional(source, call)
    if (read === undefined) return undefined
    args.push(...read)
  }
  return args
}

function readPositional (source: PythonSource, call: PythonCall): ScriptArgument[] | undefined {
  const { positional, named, spread } = call
  const name = source.string(positional[0])
  const count = source.value(named.get('nargs')) ?? 1
  if (name === undefined || spread || typeof count !== 'number') return undefined
  const required = source.value(named.get('required')) ?? (count > 0 && !named.has('default'))
  return [
    {
      name: name.toLowerCase(),
      kind: 'positional',
      ...valueOf(source, named, true),
      description: helpOf(source, named, name),
      required: required === true,
      ...(count !== 1 && { values: count < 0 ? { least: required === true ? 1 : 0 } : { least: count, most: count } })
    }
  ]
}

function readOption (source: PythonSource, call: PythonCall, taken: readonly string[]): ScriptArgument[] | undefined {
  const { positional, named, spread } = call
  const names = positional.map(node => source.string(node)).filter(name => name !== undefined)
  const flags = names.filter(name => name.startsWith('-'))
  const main = flags.find(name => name.startsWith('--')) ?? flags[0] ?? ''
  const [on = '', off = ''] = main.split('/').map(part => part.trim())
  if (spread || on === '' || names.length < positional.length) return undefined
  const name =
    names.find(name => !name.startsWith('-'))
    ?? taken.find(name => flags.includes(`--${name.replaceAll('_', '-')}`))
    ?? on.replace(/^-+/, '')
  const description = helpOf(source, named, name)
  if (off !== '') return [flag(name, on, description), flag(off.replace(/^-+/, ''), off, `The opposite of ${on}`)]
  if (isFlag(source, call)) return [flag(name, on, description)]
  const count = source.value(named.get('nargs')) ?? 1
  if (typeof count !== 'number' || count < 1) return undefined
  const several = source.value(named.get('multiple')) === true
  return [
    {
      name,
      kind: 'option',
      flag: on,
      ...valueOf(source, named, several || named.has('envvar')),
      ...typeOfDefault(source, named),
      description,
      required: source.value(named.get('required')) === true,
      ...(several && count === 1 && { repeated: true }),
      ...(count > 1 && { values: { least: count, most: count } })
    }
  ]
}

function flag (name: string, flag: string, description: string): ScriptArgument {
  return { name, kind: 'flag', flag, type: 'string', required: false, description }
}

/** Whether an option takes no value. */
function isFlag (source: PythonSource, { named }: PythonCall): boolean {
  const on = (name: string): boolean => source.value(named.get(name)) === true
  const switched = typeof source.value(named.get('default')) === 'boolean' && !named.has('type')
  return on('is_flag') || on('count') || named.has('flag_value') || switched
}

/** The type of the default, which click uses for an option without a type. */
function typeOfDefault (source: PythonSource, named: PythonCall['named']): Partial<Pick<ScriptArgument, 'type'>> {
  const initial = named.has('type') ? undefined : source.value(named.get('default'))
  if (typeof initial !== 'number') return {}
  return { type: /^-?\d+$/.test(source.of(named.get('default') ?? source.root)) ? 'integer' : 'number' }
}
