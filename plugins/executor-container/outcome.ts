import type { Outcome } from '../../kernel/index.ts'
import type { ContainerSpec } from '../toolkit/container/spec.ts'
import type { Engine } from './engine.ts'

/** The longest line of the engine's errors that a message quotes, in characters. */
const quoteMax = 500

/** A run, for messages about it. */
export interface Subject {
  /** The skill and tool, such as `pages:render`. */
  name: string
  engine: Engine
  spec: ContainerSpec
  program: string
  memory_bytes_max: number
}

export function failed (message: string, details: object = {}): Outcome {
  return { status: 'failed', output: '', output_truncated: false, error: { message, details: { ...details } } }
}

/**
 * The outcome of the engine's program, in terms of the container: the engine's own exit codes are explained, and no
 * packages of this machine are named for what is missing in an image.
 */
export function explain (outcome: Outcome, subject: Subject): Outcome {
  if (outcome.status !== 'failed') return outcome
  const { exit_code, stderr: kept, signal, exceeded } = outcome.error.details
  if (typeof exit_code !== 'number' || signal !== undefined || exceeded !== undefined) return outcome
  const stderr = typeof kept === 'string' ? kept : ''
  const why = reasonOf(exit_code, stderr, subject)
  if (why === undefined) return outcome
  const message = `${subject.name} ${why}`
  return { ...outcome, error: { message, details: { exit_code, stderr, image: subject.spec.image } } }
}

/** Why a run failed; undefined where the message of the executor of commands says it as well. */
function reasonOf (exit_code: number, stderr: string, subject: Subject): string | undefined {
  const { engine, spec, program, memory_bytes_max } = subject
  const line = lastLine(stderr)
  switch (exit_code) {
    case 125: return isOfEngine(stderr) ? `could not be started: ${startFault(stderr, engine, spec)}` : undefined
    case 126:
    case 127:
      if (!/\bOCI\b|\brunc\b|\bcrun\b|\bexec:/.test(line)) break
      return `could not be started: the program "${program}" ${exit_code === 127
        ? `was not found in the image ${spec.image}`
        : `can't be executed in the image ${spec.image}`}`
    case 137: {
      const limit = memory_bytes_max === 0 ? '' : `${Math.floor(memory_bytes_max / 1_048_576)} MiB of `
      return `was ended by SIGKILL, as when it uses more than its ${limit}memory`
    }
  }
  return `exited with code ${exit_code}${line === '' ? '' : `: ${line}`}`
}

/** Whether the last lines are the engine's own: a program in the container may exit with 125 too. */
function isOfEngine (stderr: string): boolean {
  return /^(Error|docker|time=|Cannot connect|unknown flag|invalid argument)/m.test(stderr)
}

function startFault (stderr: string, engine: Engine, { image }: ContainerSpec): string {
  if (/image not known|no such image|unable to find image/i.test(stderr)) {
    return `the image ${image} is not on this machine; pull it: ${engine.name} pull ${image}`
  }
  if (/cannot connect|is the docker daemon running|permission denied.*socket/i.test(stderr)) {
    return `${engine.name} does not answer; start it, or see \`${engine.name} info\``
  }
  const lines = stderr.split('\n').filter(line => !/^(Run '|See '|$)/.test(line))
  return lastLine(lines.join('\n'))
}

/** The last line that is not empty, without control characters. */
function lastLine (text: string): string {
  const line = text.split(/[\r\n]+/).findLast(line => line.trim() !== '') ?? ''
  const clean = line.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return clean.length > quoteMax ? `${clean.slice(0, quoteMax)}…` : clean
}
