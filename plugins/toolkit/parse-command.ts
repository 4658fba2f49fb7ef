import {
  SkilletError, VARIABLE_NAME,
  type CommandPart, type CommandPiece, type CommandTemplate, type JsonObject, type ParameterDescriptor
} from '../../kernel/index.ts'
import { expandCommand } from './expand-command.ts'

export type CommandSpec = readonly (string | CommandSpec)[]

/** The settings of a manifest that make a command. */
interface Spec { command: CommandSpec, stdin?: string, cwd?: string, env?: Readonly<Record<string, string>> }

/**
 * Variables by which programs find or load code: a value from a call in such a variable would be a way to run something
 * else.
 */
const LOADS_CODE = new RegExp(`^(${[
  'PATH', 'IFS', 'ENV', 'SHELLOPTS', 'BASH_.*', 'LD_.*', 'DYLD_.*', 'NODE_.*', 'PYTHON.*', 'PERL5.*', 'PERLLIB',
  'RUBY.*', 'GIT_.*', 'JAVA_.*', '_JAVA_.*', 'CLASSPATH', '.*(PAGER|EDITOR|SHELL|BROWSER)'
].join('|')})$`)

const placeholder = /\{\{(\.\.\.|\?)?([^{}]*)\}\}/g

/**
 * Parses a manifest's `command`, `stdin`, `cwd` and `env`.
 * @throws Error naming the placeholder, when it has no parameter, may be absent outside a group, stands in the
 * program's name, spreads a parameter that is no array or is part of an argument, asks for a parameter that is no
 * boolean, or can be any option; when there is a NUL, which no argument can hold; when a variable's name is not valid,
 * or a value from a call would be in a variable by which programs find code; or when each call would be refused for a
 * default
 */
export function parseCommand (spec: Spec, parameters: readonly ParameterDescriptor[]): CommandTemplate {
  const [program, ...rest] = spec.command
  if (typeof program !== 'string' || program === '' || program.search(placeholder) >= 0) {
    throw new Error('command: the first item is the program, a literal without placeholders')
  }
  if (holdsNul(spec.command) || spec.cwd?.includes('\0') === true) {
    throw new Error('command: no argument can hold a NUL character')
  }
  refuseInexpressible(spec, parameters)
  const parser = new Parser(parameters)
  const template = {
    program,
    parts: rest.map(item => parser.part(item, false)),
    ...(spec.stdin !== undefined && { stdin: parser.pieces(spec.stdin, true) }),
    ...(spec.cwd !== undefined && { cwd: parser.pieces(spec.cwd, false) }),
    ...(spec.env !== undefined && { env: parser.variables(spec.env) }),
    dashes: parameters.filter(parameter => parameter['allow_dash'] === true).map(parameter => parameter.name)
  }
  refuseDefaults(template, parameters)
  return template
}

/** Reads texts with placeholders of the parameters of a tool. */
class Parser {
  readonly #parameters: ReadonlyMap<string, ParameterDescriptor>

  constructor (parameters: readonly ParameterDescriptor[]) {
    this.#parameters = new Map(parameters.map(parameter => [parameter.name, parameter]))
  }

  part (item: string | CommandSpec, inGroup: boolean): CommandPart {
    if (typeof item !== 'string') return { kind: 'group', parts: item.map(inner => this.part(inner, true)) }
    const single = /^\{\{(\.\.\.|\?)([^{}]*)\}\}$/.exec(item)
    if (single === null) {
      const pieces = this.pieces(item, inGroup)
      this.#refuseOpenOption(pieces)
      return { kind: 'argument', pieces }
    }
    const [whole, prefix, name = ''] = single
    const { type } = this.#find(name)
    if (prefix === '...') {
      if (type !== 'array') throw new Error(`placeholder ${whole} spreads "${name}", which is not an array`)
      return { kind: 'spread', parameter: name }
    }
    if (type !== 'boolean') throw new Error(`placeholder ${whole} asks for "${name}", which is not a boolean`)
    if (!inGroup) throw new Error(`placeholder ${whole} belongs into a group`)
    return { kind: 'when', parameter: name }
  }

  /** The literals and placeholders of a text, in order. */
  pieces (text: string, mayBeAbsent: boolean): CommandPiece[] {
    const pieces: CommandPiece[] = []
    let end = 0
    for (const match of text.matchAll(placeholder)) {
      const [whole, prefix, name = ''] = match
      if (prefix !== undefined) throw new Error(`placeholder ${whole} must be an argument of its own`)
      const parameter = this.#find(name)
      if (!mayBeAbsent && !parameter.required && !('default' in parameter)) {
        throw new Error(`placeholder ${whole} may be absent: make it required, give it a default, or put it in a group`)
      }
      if (match.index > end) pieces.push({ literal: text.slice(end, match.index) })
      pieces.push({ parameter: name })
      end = match.index + whole.length
    }
    if (end < text.length) pieces.push({ literal: text.slice(end) })
    return pieces
  }

  variables (env: Readonly<Record<string, string>>): Record<string, CommandPiece[]> {
    return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, this.#variable(name, value)]))
  }

  #variable (name: string, value: string): CommandPiece[] {
    if (!VARIABLE_NAME.test(name)) throw new Error(`env: "${name}" can't be the name of a variable`)
    if (value.includes('\0')) throw new Error(`env: the variable ${name} can't hold a NUL character`)
    const pieces = this.pieces(value, true)
    if (!LOADS_CODE.test(name.toUpperCase()) || !pieces.some(piece => 'parameter' in piece)) return pieces
    throw new Error(`env: ${name} must be a literal: a value from a call could make the program run something else`)
  }

  #find (name: string): ParameterDescriptor {
    const parameter = this.#parameters.get(name)
    if (parameter === undefined) throw new Error(`placeholder {{${name}}} has no parameter of that name`)
    return parameter
  }

  /** `-{{level}}`: the value is the option. */
  #refuseOpenOption ([first, second]: readonly CommandPiece[]): void {
    if (first === undefined || second === undefined || !('literal' in first) || !('parameter' in second)) return
    if (!/^-+$/.test(first.literal)) return
    const { type, allow_dash, ...more } = this.#find(second.parameter)
    if (allow_dash === true || type === 'integer' || type === 'number' || 'enum' in more) return
    const why = 'behind dashes alone can be any option: give it an enum, or allow_dash = true'
    throw new Error(`placeholder {{${second.parameter}}} ${why}`)
  }
}

/**
 * A placeholder of a parameter whose name has braces, is empty, or begins like the sign of a placeholder is read as
 * something else.
 * @throws Error where a text has a placeholder that is meant for such a parameter
 */
function refuseInexpressible (spec: Spec, parameters: readonly ParameterDescriptor[]): void {
  const { command, stdin = '', cwd = '', env = {} } = spec
  const names = new Set(parameters.map(({ name }) => name))
  const sign = /^(?:\?|\.\.\.)/
  const isOdd = (name: string): boolean => {
    return name === '' || /[{}]/.test(name) || (sign.test(name) && !names.has(name.replace(sign, '')))
  }
  const odd = [...names].filter(isOdd)
  if (odd.length === 0) return
  const texts = [...textsOf(command), stdin, cwd, ...Object.values(env)]
  const used = odd.find(name => texts.some(text => ['', '?', '...'].some(sign => text.includes(`{{${sign}${name}}}`))))
  if (used === undefined) return
  const why = 'its name is empty, has a brace, or begins with "?" or "..."; call it otherwise'
  throw new Error(`parameter "${used}" can't stand in a placeholder: ${why}`)
}

function textsOf (spec: CommandSpec): string[] {
  return spec.flatMap(item => typeof item === 'string' ? [item] : textsOf(item))
}

/** A default that can't be put into the command is the manifest's fault, not that of each call. @throws Error */
function refuseDefaults (template: CommandTemplate, parameters: readonly ParameterDescriptor[]): void {
  const samples = { string: 'x', integer: 1, number: 1, boolean: true, array: [], object: {} } as const
  const preset = parameters.filter(parameter => 'default' in parameter)
  if (preset.length === 0) return
  const present = parameters.filter(parameter => parameter.required || 'default' in parameter)
  for (const flags of preset.some(({ type }) => type === 'boolean') ? [false, true] : [false]) {
    const values = present.map(parameter => {
      const { name, type } = parameter
      return [name, 'default' in parameter && !(flags && type === 'boolean') ? parameter['default'] : samples[type]]
    })
    try {
      expandCommand(template, Object.fromEntries(values) as JsonObject)
    } catch (error) {
      const name = error instanceof SkilletError ? error.details['parameter'] : undefined
      const culprit = preset.find(parameter => parameter.name === name)
      if (!(error instanceof SkilletError) || culprit === undefined) continue
      const why = error.message.replace(/^\S+ /, '')
      throw new Error(`parameter "${culprit.name}": its default ${why}`, { cause: error })
    }
  }
}

function holdsNul (spec: CommandSpec): boolean {
  return spec.some(item => typeof item === 'string' ? item.includes('\0') : holdsNul(item))
}
