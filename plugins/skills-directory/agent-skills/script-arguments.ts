import { PARAMETER_NAME, type CommandTemplate, type JsonObject } from '../../../kernel/index.ts'
import type { ParameterSource } from '../shared/tools.ts'

/** An argument of a script, as declared in its source. */
export interface ScriptArgument {
  /** The name in the script, from which the parameter's name is made. */
  name: string
  kind: 'positional' | 'option' | 'flag'
  /** `--output` or `-o`; only for options and flags. */
  flag?: string
  type: 'string' | 'integer' | 'number'
  description: string
  required: boolean
  /**
   * The number of values: one when absent, or a list of at least `least` (and at most `most`). With `rest`, the list
   * takes all remaining arguments, also those that look like options.
   */
  values?: { least: number, most?: number, rest?: boolean }
  /** Whether the option may be given several times, once for each value. */
  repeated?: boolean
  choices?: readonly (string | number)[]
  default?: string | number
}

/** All arguments of a script. */
export interface ScriptInterface {
  arguments: readonly ScriptArgument[]
  /** Whether `--` ends the options, so that no argument after it is taken for an option. */
  dashes: boolean
}

type Part = CommandTemplate['parts'][number]

/**
 * The arguments of a script in the form of a tool: parameters, rules for combinations of parameters, and the template
 * of the command.
 */
export interface ScriptCall {
  parameters: ParameterSource[]
  rules?: JsonObject
  template: Pick<CommandTemplate, 'parts' | 'dashes'>
}

const parametersMax = 48
const descriptionMax = 1_000
const defaultMax = 200

/** The parameters and the command for a script's arguments; undefined when there are too many or names are equal. */
export function callOf ({ arguments: args, dashes }: ScriptInterface): ScriptCall | undefined {
  const names = args.length > parametersMax ? undefined : nameAll(args)
  if (names === undefined) return undefined
  const parameters = args.map((argument, i) => parameterOf(argument, names[i] ?? '', dashes))
  const parts = args.map((argument, i) => ({ argument, part: partOf(argument, names[i] ?? '') }))
  const [options, places] = [
    parts.filter(({ argument }) => argument.kind !== 'positional'),
    parts.filter(({ argument }) => argument.kind === 'positional')
  ]
  const ended = dashes && places.length > 0 && !places.some(({ argument }) => argument.values?.rest === true)
  const needs = needsOf(args, names)
  return {
    parameters,
    ...(Object.keys(needs).length > 0 && { rules: { dependentRequired: needs } }),
    template: {
      parts: [...options.map(({ part }) => part), ...(ended ? [literal('--')] : []), ...places.map(({ part }) => part)],
      dashes: parameters.filter(({ allow_dash }) => allow_dash === true).map(({ name }) => name)
    }
  }
}

/** The usage of a script, in one line. */
export function usageLine (file: string, { arguments: args }: ScriptInterface): string {
  const words = args.map(({ name, kind, flag = '', required, values, choices }) => {
    const value = choices === undefined ? `<${name}>` : choices.join('|')
    const text =
      kind === 'flag' ? flag : `${kind === 'option' ? `${flag} ` : ''}${value}${values === undefined ? '' : '…'}`
    return required ? text : `[${text}]`
  })
  return [file, ...words].join(' ')
}

function literal (text: string): Part {
  return { kind: 'argument', pieces: [{ literal: text }] }
}

/** The part of the command for an argument; it is left out when the parameter is absent. */
function partOf ({ kind, flag = '', values, repeated = false }: ScriptArgument, parameter: string): Part {
  if (kind === 'flag') return { kind: 'group', parts: [{ kind: 'when', parameter }, literal(flag)] }
  if (kind === 'positional')
    return {
      kind: 'group',
      parts: [values === undefined ? { kind: 'argument', pieces: [{ parameter }] } : { kind: 'spread', parameter }]
    }
  if (values !== undefined) return { kind: 'group', parts: [literal(flag), { kind: 'spread', parameter }] }
  // The value is written in the same argument, directly after `-o` or after `--output=`, so that a value that begins
  // with `-` is not taken for an option.
  const lead = flag.length === 2 ? flag : `${flag}=`
  return {
    kind: 'group',
    parts: [
      repeated
        ? { kind: 'spread', parameter, literal: lead }
        : { kind: 'argument', pieces: [{ literal: lead }, { parameter }] }
    ]
  }
}

function parameterOf (argument: ScriptArgument, name: string, dashes: boolean): ParameterSource {
  const { kind, flag, type, description, required, values, repeated = false, choices, default: initial } = argument
  const about =
    description.replace(/\s+/g, ' ').trim() || (kind === 'positional' ? argument.name : `The option ${flag ?? name}`)
  const common = {
    name,
    description: about.length > descriptionMax ? `${about.slice(0, descriptionMax - 1)}…` : about,
    ...(required && { required })
  }
  if (kind === 'flag') return { ...common, type: 'boolean' }
  const value = { type, ...(choices !== undefined && { enum: [...choices] }) }
  const anyDash = kind === 'positional' && (!dashes || values?.rest === true)
  if (values !== undefined || repeated) {
    const least = Math.max(values?.least ?? 0, required ? 1 : 0)
    return {
      ...common,
      type: 'array',
      items: value,
      ...(least > 0 && { minItems: least }),
      maxItems: values?.most ?? 1_000,
      ...(anyDash && { allow_dash: true })
    }
  }
  const preset = kind === 'option' && !required && isPlain(initial) && fits(initial, type, choices)
  return { ...common, ...value, ...(anyDash && { allow_dash: true }), ...(preset && { default: initial }) }
}

function isPlain (value: string | number | undefined): value is string | number {
  return (
    value !== undefined && (typeof value === 'number' || /^\P{Cc}+$/u.test(value)) && String(value).length <= defaultMax
  )
}

function fits (value: string | number, type: ScriptArgument['type'], choices: ScriptArgument['choices']): boolean {
  const typed =
    type === 'string'
      ? typeof value === 'string'
      : type === 'integer'
        ? Number.isSafeInteger(value)
        : Number.isFinite(value)
  return typed && (choices === undefined || choices.includes(value))
}

/** Optional positional arguments require those before them: the required parameters, by parameter. */
function needsOf (args: readonly ScriptArgument[], names: readonly string[]): Record<string, string[]> {
  const needs: Record<string, string[]> = {}
  const before: string[] = []
  for (const [i, { kind, required }] of args.entries()) {
    const name = names[i]
    if (kind !== 'positional' || required || name === undefined) continue
    if (before.length > 0) needs[name] = [...before]
    before.push(name)
  }
  return needs
}

/** Names that every JavaScript object inherits. */
const reserved = new Set(['constructor', 'prototype'])

/** A parameter name for each argument; undefined when two arguments would have the same name. */
function nameAll (args: readonly ScriptArgument[]): string[] | undefined {
  const names = args.map(({ name }) => {
    const clean = name
      .replace(/^[^A-Za-z]+/, '')
      .replace(/[^A-Za-z0-9_]+/g, '_')
      .replace(/_+$/, '')
      .slice(0, 64)
    return reserved.has(clean) ? `${clean}_` : clean
  })
  return new Set(names).size === names.length && names.every(name => PARAMETER_NAME.test(name)) ? names : undefined
}
