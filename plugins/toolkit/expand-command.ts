import {
  SkilletError, type CommandPart, type CommandPiece, type CommandTemplate, type JsonObject
} from '../../kernel/index.ts'

/** A command as it is run. */
export interface Command {
  program: string
  args: string[]
  stdin: string | undefined
  cwd: string | undefined
  env: Record<string, string>
}

/** The size of an argument, in bytes: Linux' MAX_ARG_STRLEN (32 pages) less the NUL at its end. */
export const argumentBytesMax = 131_071
/**
 * All arguments together, in bytes: half of the space that Linux has for arguments and environment by default (2 MiB).
 */
export const argumentsBytesMax = 1_048_576
/** The cost of each argument beyond its text, in bytes: the NUL at its end, and the pointer to it. */
const argumentOverheadBytes = 9

/**
 * The command for these parameters. Each placeholder becomes an argument, or a part of an argument, whatever its value.
 * @throws SkilletError INVALID_PARAMETERS for a value that would pass for an option, holds a NUL, or is too long
 */
export function expandCommand (template: CommandTemplate, parameters: JsonObject): Command {
  const expansion = new Expansion(template, parameters)
  expansion.addArguments(template.parts)
  expansion.addVariables()
  return {
    program: template.program,
    args: expansion.args,
    stdin: template.stdin && fill(template.stdin, parameters, true),
    cwd: template.cwd && fill(template.cwd, parameters),
    env: expansion.env
  }
}

/** The arguments and variables of a command while they are added, and their size. */
class Expansion {
  readonly args: string[] = []
  readonly env: Record<string, string> = {}
  readonly #template: CommandTemplate
  readonly #parameters: JsonObject
  #bytes = 0
  #afterDashes = false

  constructor (template: CommandTemplate, parameters: JsonObject) {
    this.#template = template
    this.#parameters = parameters
  }

  addArguments (parts: readonly CommandPart[]): void {
    const parameters = this.#parameters
    for (const part of parts) {
      switch (part.kind) {
        case 'argument': {
          const culprit = part.pieces.find(piece => 'parameter' in piece)
          this.#push(fill(part.pieces, parameters), leadOf(part.pieces, parameters), culprit?.parameter)
          break
        }
        case 'spread': {
          const { parameter, literal = '' } = part
          const lead = part.literal === undefined ? parameter : undefined
          for (const item of arrayOf(valueOf(parameters, parameter))) {
            this.#push(literal + text(item, parameter), lead, parameter)
          }
          break
        }
        case 'group':
          if (isWhole(part.parts, parameters)) this.addArguments(part.parts)
          break
        case 'when':
      }
    }
  }

  /** Adds the variables whose parameters are all there. */
  addVariables (): void {
    const parameters = this.#parameters
    for (const [name, value] of Object.entries(this.#template.env ?? {})) {
      if (!value.every(piece => 'literal' in piece || valueOf(parameters, piece.parameter) !== undefined)) continue
      const filled = this.env[name] = fill(value, parameters)
      const culprit = value.find(piece => 'parameter' in piece)?.parameter
      this.#count(name.length + 1 + Buffer.byteLength(filled), culprit, 'a variable', 'arguments and variables')
    }
  }

  /**
   * Adds an argument.
   * @param lead the parameter that the argument begins with
   * @param culprit the parameter to name where the argument is too long
   */
  #push (argument: string, lead: string | undefined, culprit: string | undefined): void {
    if (lead !== undefined && argument.startsWith('-') && !this.#afterDashes && !this.#template.dashes.includes(lead)) {
      throw refuse(lead, 'must not begin with "-": it would pass for an option')
    }
    this.#count(Buffer.byteLength(argument), culprit, 'an argument', 'the arguments')
    if (culprit === undefined && argument === '--') this.#afterDashes = true
    this.args.push(argument)
  }

  /** Counts an argument or a variable. @throws SkilletError where it is too long, or all of them together are */
  #count (length: number, culprit: string | undefined, kind: string, all: string): void {
    if (length > argumentBytesMax) {
      throw refuse(culprit, `makes ${kind} of ${length} bytes; the system takes ${argumentBytesMax}`)
    }
    this.#bytes += length + argumentOverheadBytes
    if (this.#bytes <= argumentsBytesMax) return
    throw refuse(culprit, `makes ${all} longer than ${argumentsBytesMax} bytes in all`)
  }
}

/** Whether every parameter that a group needs is there. Groups within decide for themselves. */
function isWhole (parts: readonly CommandPart[], parameters: JsonObject): boolean {
  return parts.every(part => {
    switch (part.kind) {
      case 'argument':
        return part.pieces.every(piece => 'literal' in piece || valueOf(parameters, piece.parameter) !== undefined)
      case 'spread': return valueOf(parameters, part.parameter) !== undefined
      case 'when': return valueOf(parameters, part.parameter) === true
      case 'group': return true
    }
  })
}

/**
 * The parameter that can turn an argument into an option: the parameter of its first character. A literal dash may come
 * to stand first because the parameter before it is empty; then it is that parameter.
 */
function leadOf (pieces: readonly CommandPiece[], parameters: JsonObject): string | undefined {
  let lead: string | undefined
  for (const [i, piece] of pieces.entries()) {
    if ('literal' in piece) {
      const next = pieces[i + 1]
      if (next === undefined || !('parameter' in next)) break
      // `-{{number}}`: a dash that follows dashes alone makes another option of it.
      if (/^-+$/.test(piece.literal) && fill([next], parameters).startsWith('-')) return next.parameter
      break
    }
    lead = piece.parameter
    if (fill([piece], parameters) !== '') break
  }
  return lead
}

/** A parameter may be called `constructor`: only properties of the object itself count. */
function valueOf (parameters: JsonObject, name: string): unknown {
  return Object.hasOwn(parameters, name) ? parameters[name] : undefined
}

function fill (pieces: readonly CommandPiece[], parameters: JsonObject, nulAllowed = false): string {
  let filled = ''
  for (const piece of pieces) {
    if ('literal' in piece) filled += piece.literal
    else filled += text(valueOf(parameters, piece.parameter), piece.parameter, nulAllowed)
  }
  return filled
}

/** A value as text: strings as they are, absent values as an empty text, arrays and objects as JSON. */
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
  const place = parameter === undefined ? 'parameters' : `parameters/${parameter}`
  return new SkilletError('INVALID_PARAMETERS', `${place} ${why}`, { parameter: parameter ?? null })
}
