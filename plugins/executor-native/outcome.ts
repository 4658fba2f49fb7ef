import { constants } from 'node:os'
import { StringDecoder } from 'node:string_decoder'
import {
  messageOf, outputOf, SkilletError, type JsonObject, type Outcome, type Output, type ScriptNeeds
} from '../../kernel/index.ts'
import { howToInstall, packagesOf } from '../toolkit/packages.ts'
import { excessOf, type Limits } from '../toolkit/sandbox/limits.ts'
import { moduleMissing } from './missing-module.ts'
import type { EndedMessage, Refusal } from './protocol.ts'

export const noOutput: Output = { output: '', output_truncated: false }

/** The longest line of standard error that a message quotes, in characters. */
const quoteMax = 500

/**
 * The error messages of Python and Node.js for a command that could not be started. The name may be any file, so only a
 * known command gives a hint.
 */
const notStarted = /No such file or directory: '([\w.+-]+)'$|\bspawn ([\w.+-]+) ENOENT$/

/** The command, for messages about it. */
export interface Subject {
  /** The skill and tool, such as `git:log`. */
  name: string
  program: string
  cwd: string
  outputBytesMax: number
  /** What it may use, where it is confined. */
  limits?: Limits
  script?: ScriptNeeds
}

/** The outcome of a command that may not run, since it must be confined and can't be. */
export function notConfined (error: unknown): Outcome {
  return { status: 'failed', ...noOutput, error: { message: messageOf(error), details: {} } }
}

/** The outcome of a run that ended by itself. */
export function outcomeOf (subject: Subject, ended: EndedMessage, stdout: Buffer): Outcome {
  const output = textOf(stdout, ended.stdout_bytes, subject.outputBytesMax)
  const { exit_code, signal, exceeded, stderr } = ended
  if (exit_code === 0 && exceeded === null) return { status: 'success', ...output }
  const details = signal === null
    ? { exit_code: exit_code ?? 1, stderr }
    : { exit_code: 128 + constants.signals[signal], signal, stderr }
  const how = exceeded !== null
    ? tooMuch(exceeded, subject)
    : signal === null ? `exited with code ${details.exit_code}` : `was ended by ${signal}`
  const quote = exceeded !== null ? '' : lastLine(stderr)
  // A command that starts others, such as a shell, reports when one of them is missing.
  const [, missing] = (details.exit_code === 127
    ? /([\w.+-]+)['’]?: (?:command not found|not found|No such file or directory)$/
    : notStarted).exec(quote)?.filter(group => group !== undefined) ?? []
  const module = moduleMissing(stderr, subject.script)
  const remedy = module === undefined ? hint(missing) : `; install it: ${module.install}`
  return {
    status: 'failed',
    ...output,
    error: {
      message: `${subject.name} ${how}${quote === '' ? '' : `: ${quote}`}${remedy}`,
      details: { ...details, ...(exceeded !== null && { exceeded }), ...packagesIn(missing), ...module }
    }
  }
}

/** What a command used too much of, for a message. */
function tooMuch (exceeded: NonNullable<EndedMessage['exceeded']>, { limits }: Subject): string {
  switch (exceeded) {
    case 'output': return 'put out more than 16 MiB and was stopped'
    default: return excessOf(exceeded, limits)
  }
}

/** The text `; install it with …`, when the command for it is known. */
function hint (command: string | undefined): string {
  const how = command === undefined ? undefined : howToInstall(command)
  return how === undefined ? '' : `; install it with ${how}`
}

function packagesIn (command: string | undefined): { packages?: JsonObject } {
  const packages = command === undefined ? undefined : packagesOf(command)
  return packages === undefined ? {} : { packages: { ...packages } }
}

/** The kept standard output as text. Bytes that are not UTF-8 become U+FFFD. */
export function textOf (stdout: Buffer, bytes: number, bytesMax: number): Output {
  if (bytes === stdout.length) return outputOf(stdout.toString('utf8'), bytesMax)
  // The kept bytes may end within a character: the decoder leaves an incomplete character out.
  return outputOf(new StringDecoder('utf8').write(stdout), bytesMax, bytes)
}

/**
 * The outcome of a run that could not begin.
 * @throws SkilletError OVERLOADED when the command is not the cause
 */
export function refusalOf ({ name, program, cwd }: Subject, why: Refusal, system_code: string): Outcome {
  const failed = (message: string, exit_code: number, more: object = {}): Outcome =>
    ({
      status: 'failed',
      ...noOutput,
      error: { message: `${name} could not be started: ${message}`, details: { exit_code, stderr: '', ...more } }
    })
  // Exit codes as in shells: 127 for a missing command, 126 for a file that can't be executed.
  switch (why) {
    case 'missing': return failed(`the command "${program}" was not found${hint(program)}`, 127, {
      command: program,
      ...packagesIn(program)
    })
    case 'interpreter': return failed(`the interpreter of "${program}" was not found`, 127, { command: program })
    case 'not_executable': return failed(`"${program}" can't be executed (${system_code})`, 126, { command: program })
    case 'too_long':
      return failed('its arguments and environment are longer than the system takes', 126, { command: program })
    case 'directory':
      return failed(`its working directory "${cwd}" is missing, no directory, or not accessible`, 126, { cwd })
    case 'resources': throw new SkilletError(
      'OVERLOADED',
      `The system has no room for another process (${system_code}); try again later`
    )
  }
}

/** The last line that is not empty, without control characters. */
function lastLine (text: string): string {
  const line = text.split(/[\r\n]+/).findLast(line => line.trim() !== '') ?? ''
  const clean = line.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return clean.length > quoteMax ? `${clean.slice(0, quoteMax)}…` : clean
}

/** The outcome of a command whose helper died. */
export function lost ({ name }: Subject, reason: string): Outcome {
  const message = `${name} was ended: the helper process that ran it died (${reason})`
  return { status: 'failed', ...noOutput, error: { message, details: {} } }
}
