import { SkilletError, VARIABLE_NAME, type CommandPart, type CommandPiece, type CommandTemplate, type JsonObject, type ParameterDescriptor } from '../../kernel/index.ts'

/** A command as it is run. */
export interface Command { program: string, args: string[], stdin: string | undefined, cwd: string | undefined, env: Record<string, string> }

/** One argument, in bytes: Linux' MAX_ARG_STRLEN (32 pages) less the NUL at its end. */
export const argumentBytesMax = 131_071
/** All arguments together, in bytes: half of what Linux gives arguments and environment by default (2 MiB). */
export const argumentsBytesMax = 1_048_576
/** What each argument costs beyond its text: the NUL at its end, and the pointer to it. */
const argumentOverheadBytes = 9

export type CommandSpec = readonly (string | CommandSpec)[]

/** Variables by which programs find or load code; a value from a call in one would be a way to run something else. */
const LOADS_CODE = /^(PATH|IFS|ENV|SHELLOPTS|BASH_.*|LD_.*|DYLD_.*|NODE_.*|PYTHON.*|PERL5.*|PERLLIB|RUBY.*|GIT_.*|JAVA_.*|_JAVA_.*|CLASSPATH|.*(PAGER|EDITOR|SHELL|BROWSER))$/

const placeholder = /\{\{(\.\.\.|\?)?([^{}]*)\}\}/g

/**
 * Parses a manifest's `command`, `stdin`, `cwd` and `env`.
 * @throws Error naming the placeholder, when one has no parameter, may be absent outside a group, stands in the
 * program's name, spreads what is not an array or a part of an argument, asks for what is not a boolean, or can be any option; when
 * there is a NUL, which no argument can hold; when a variable's name is none, or a value from a call would be in one by which
 * programs find code; or when a default is one that each call would be refused for
 */
export function parseCommand (
  spec: { command: CommandSpec, stdin?: string, cwd?: string, env?: Readonly<Record<string, string>> }, parameters: readonly ParameterDescriptor[]
): CommandTemplate {
  const byName = new Map(parameters.map(parameter => [parameter.name, parameter]))
  const [program, ...rest] = spec.command
  if (typeof program !== 'string' || program === '' || program.search(placeholder) >= 0) {
    throw new Error('command: the first item is the program, a literal without placeholders')
  }
  if (holdsNul(spec.command) || spec.cwd?.includes('\0') === true) throw new Error('command: no argument can hold a NUL character')
  refuseInexpressible(spec, parameters)
  const find = (name: string): ParameterDescriptor => {
    const parameter = byName.get(name)
    if (parameter === undefined) throw new Error(`placeholder {{${name}}} has no parameter of that name`)
    return parameter
  }
  const pieces = (text: string, mayBeAbsent: boolean): CommandPiece[] => {
    const found: CommandPiece[] = []
    let end = 0
    for (const match of text.matchAll(placeholder)) {
      const [whole, prefix, name = ''] = match
      if (prefix !== undefined) throw new Error(`placeholder ${whole} must be an argument of its own`)
      const parameter = find(name)
      if (!mayBeAbsent && !parameter.required && !('default' in parameter)) {
        throw new Error(`placeholder ${whole} may be absent: make it required, give it a default, or put it in a group`)
      }
      if (match.index > end) found.push({ literal: text.slice(end, match.index) })
      found.push({ parameter: name })
      end = match.index + whole.length
    }
    if (end < text.length) found.push({ literal: text.slice(end) })
    return found
  }
  /** `-{{level}}`: the value is the option. */
  const refuseOpenOption = (pieces: CommandPiece[]): CommandPiece[] => {
    const [first, second] = pieces
    if (first === undefined || second === undefined || !('literal' in first) || !('parameter' in second) || !/^-+$/.test(first.literal)) return pieces
    const { type, allow_dash, ...more } = find(second.parameter)
    if (allow_dash === true || type === 'integer' || type === 'number' || 'enum' in more) return pieces
    throw new Error(`placeholder {{${second.parameter}}} behind dashes alone can be any option: give it an enum, or allow_dash = true`)
  }
  const part = (item: string | CommandSpec, inGroup: boolean): CommandPart => {
    if (typeof item !== 'string') return { kind: 'group', parts: item.map(inner => part(inner, true)) }
    const single = /^\{\{(\.\.\.|\?)([^{}]*)\}\}$/.exec(item)
    if (single === null) return { kind: 'argument', pieces: refuseOpenOption(pieces(item, inGroup)) }
    const [whole, prefix, name = ''] = single
    const { type } = find(name)
    if (prefix === '...') {
      if (type !== 'array') throw new Error(`placeholder ${whole} spreads "${name}", which is not an array`)
      return { kind: 'spread', parameter: name }
    }
    if (type !== 'boolean') throw new Error(`placeholder ${whole} asks for "${name}", which is not a boolean`)
    if (!inGroup) throw new Error(`placeholder ${whole} belongs into a group`)
    return { kind: 'when', parameter: name }
  }
  const variable = (name: string, value: string): [string, CommandPiece[]] => {
    if (!VARIABLE_NAME.test(name)) throw new Error(`env: "${name}" can't be the name of a variable`)
    if (value.includes('\0')) throw new Error(`env: the variable ${name} can't hold a NUL character`)
    const parsed = pieces(value, true)
    if (LOADS_CODE.test(name.toUpperCase()) && parsed.some(piece => 'parameter' in piece)) throw new Error(`env: ${name} must be a literal: a value from a call could make the program run something else`)
    return [name, parsed]
  }
  const template = {
    program,
    parts: rest.map(item => part(item, false)),
    ...(spec.stdin !== undefined && { stdin: pieces(spec.stdin, true) }),
    ...(spec.cwd !== undefined && { cwd: pieces(spec.cwd, false) }),
    ...(spec.env !== undefined && { env: Object.fromEntries(Object.entries(spec.env).map(([name, value]) => variable(name, value))) }),
    dashes: parameters.filter(parameter => parameter['allow_dash'] === true).map(parameter => parameter.name)
  }
  refuseDefaults(template, parameters)
  return template
}

/**
 * A name with braces, an empty one, and one that begins as a placeholder's sign does are read as something else.
 * @throws Error where a placeholder is meant for one
 */
function refuseInexpressible ({ command, stdin = '', cwd = '', env = {} }: { command: CommandSpec, stdin?: string, cwd?: string, env?: Readonly<Record<string, string>> }, parameters: readonly ParameterDescriptor[]): void {
  const names = new Set(parameters.map(({ name }) => name))
  const odd = [...names].filter(name => name === '' || /[{}]/.test(name) || (/^(?:\?|\.\.\.)/.test(name) && !names.has(name.replace(/^(?:\?|\.\.\.)/, ''))))
  if (odd.length === 0) return
  const texts = [...textsOf(command), stdin, cwd, ...Object.values(env)]
  const used = odd.find(name => texts.some(text => ['', '?', '...'].some(sign => text.includes(`{{${sign}${name}}}`))))
  if (used !== undefined) throw new Error(`parameter "${used}" can't stand in a placeholder: its name is empty, has a brace, or begins with "?" or "..."; call it otherwise`)
}

function textsOf (spec: CommandSpec): string[] {
  return spec.flatMap(item => typeof item === 'string' ? [item] : textsOf(item))
}

/** A default that can't be put into the command is the manifest's fault, not that of each call. @throws Error */
function refuseDefaults (template: CommandTemplate, parameters: readonly ParameterDescriptor[]): void {
  const samples = { string: 'x', integer: 1, number: 1, boolean: true, array: [], object: {} } as const
  const preset = parameters.filter(parameter => 'default' in parameter)
  if (preset.length === 0) return
  for (const flags of preset.some(({ type }) => type === 'boolean') ? [false, true] : [false]) {
    const values = parameters.filter(parameter => parameter.required || 'default' in parameter).map(parameter => [
      parameter.name, 'default' in parameter && !(flags && parameter.type === 'boolean') ? parameter['default'] : samples[parameter.type]
    ])
    try {
      expandCommand(template, Object.fromEntries(values) as JsonObject)
    } catch (error) {
      const name = error instanceof SkilletError ? error.details['parameter'] : undefined
      const culprit = parameters.find(parameter => parameter.name === name)
      if (error instanceof SkilletError && culprit !== undefined && 'default' in culprit) throw new Error(`parameter "${culprit.name}": its default ${error.message.replace(/^\S+ /, '')}`, { cause: error })
    }
  }
}

/**
 * The command for these parameters. Each placeholder becomes one argument, or a part of one, whatever it holds.
 * @throws SkilletError INVALID_PARAMETERS for a value that would pass for an option, holds a NUL, or is too long
 */
export function expandCommand (template: CommandTemplate, parameters: JsonObject): Command {
  const args: string[] = []
  let bytes = 0
  let afterDashes = false
  /** `lead`: the parameter that the argument begins with; `culprit`: the one to name where the argument is too long. */
  const push = (argument: string, lead: string | undefined, culprit: string | undefined): void => {
    if (lead !== undefined && argument.startsWith('-') && !afterDashes && !template.dashes.includes(lead)) {
      throw refuse(lead, 'must not begin with "-": it would pass for an option')
    }
    const length = Buffer.byteLength(argument)
    if (length > argumentBytesMax) throw refuse(culprit, `makes an argument of ${length} bytes; the system takes ${argumentBytesMax}`)
    bytes += length + argumentOverheadBytes
    if (bytes > argumentsBytesMax) throw refuse(culprit, `makes the arguments longer than ${argumentsBytesMax} bytes in all`)
    if (culprit === undefined && argument === '--') afterDashes = true
    args.push(argument)
  }
  const walk = (parts: readonly CommandPart[]): void => {
    for (const part of parts) {
      switch (part.kind) {
        case 'argument': {
          const culprit = part.pieces.find(piece => 'parameter' in piece)
          push(fill(part.pieces, parameters), leadOf(part.pieces, parameters), culprit?.parameter)
          break
        }
        case 'spread':
          for (const item of arrayOf(valueOf(parameters, part.parameter))) {
            push(`${part.literal ?? ''}${text(item, part.parameter)}`, part.literal === undefined ? part.parameter : undefined, part.parameter)
          }
          break
        case 'group':
          if (isWhole(part.parts, parameters)) walk(part.parts)
          break
        case 'when':
      }
    }
  }
  walk(template.parts)
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(template.env ?? {})) {
    if (!value.every(piece => 'literal' in piece || valueOf(parameters, piece.parameter) !== undefined)) continue
    env[name] = fill(value, parameters)
    const culprit = value.find(piece => 'parameter' in piece)?.parameter
    const length = name.length + 1 + Buffer.byteLength(env[name])
    if (length > argumentBytesMax) throw refuse(culprit, `makes a variable of ${length} bytes; the system takes ${argumentBytesMax}`)
    bytes += length + argumentOverheadBytes
    if (bytes > argumentsBytesMax) throw refuse(culprit, `makes arguments and variables longer than ${argumentsBytesMax} bytes in all`)
  }
  return {
    program: template.program,
    args,
    stdin: template.stdin && fill(template.stdin, parameters, true),
    cwd: template.cwd && fill(template.cwd, parameters),
    env
  }
}

/** Whether every parameter that a group needs is there. Groups within decide for themselves. */
function isWhole (parts: readonly CommandPart[], parameters: JsonObject): boolean {
  return parts.every(part => {
    switch (part.kind) {
      case 'argument': return part.pieces.every(piece => 'literal' in piece || valueOf(parameters, piece.parameter) !== undefined)
      case 'spread': return valueOf(parameters, part.parameter) !== undefined
      case 'when': return valueOf(parameters, part.parameter) === true
      case 'group': return true
    }
  })
}

/**
 * The parameter that can turn an argument into an option: the one its first character comes from. A literal dash that
 * comes to stand first, because what is before it is empty, is that parameter's doing.
 */
function leadOf (pieces: readonly CommandPiece[], parameters: JsonObject): string | undefined {
  let lead: string | undefined
  for (const [i, piece] of pieces.entries()) {
    if ('literal' in piece) {
      const next = pieces[i + 1]
      // `-{{number}}`: a dash that follows dashes alone makes another option of it.
      if (/^-+$/.test(piece.literal) && next !== undefined && 'parameter' in next && fill([next], parameters).startsWith('-')) return next.parameter
      break
    }
    lead = piece.parameter
    if (fill([piece], parameters) !== '') break
  }
  return lead
}

function holdsNul (spec: CommandSpec): boolean {
  return spec.some(item => typeof item === 'string' ? item.includes('\0') : holdsNul(item))
}

/** A parameter may be called `constructor`: only what the object itself has counts. */
function valueOf (parameters: JsonObject, name: string): unknown {
  return Object.hasOwn(parameters, name) ? parameters[name] : undefined
}

function fill (pieces: readonly CommandPiece[], parameters: JsonObject, nulAllowed = false): string {
  let filled = ''
  for (const piece of pieces) filled += 'literal' in piece ? piece.literal : text(valueOf(parameters, piece.parameter), piece.parameter, nulAllowed)
  return filled
}

/** A value as text: strings as they are, absent ones empty, arrays and objects as JSON. */
function text (value: unknown, parameter: string, nulAllowed = false): string {
  const result = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
  if (!result.isWellFormed()) throw refuse(parameter, 'must not hold half a surrogate pair, which is no character')
  if (!nulAllowed && result.includes('\0')) throw refuse(parameter, 'must not hold a NUL character')
  return result
}

function arrayOf (value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function refuse (parameter: string | undefined, why: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', `parameters${parameter === undefined ? '' : `/${parameter}`} ${why}`, { parameter: parameter ?? null })
}
