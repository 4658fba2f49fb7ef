import { isObject, outputOf, type Outcome } from '../../kernel/index.ts'
import type { RunEnd } from '../toolkit/wasm/host/commands.ts'

/** The longest line of standard error that a message quotes, in characters. */
const quoteMax = 500

/**
 * The outcome of a command, from the outcome of the script that ran it: a line that tells how it ended, and its output.
 * @param name the skill and tool, such as `geometry:area`
 */
export function outcomeOf (name: string, script: Outcome): Outcome {
  if (script.status !== 'success') return { ...script, output: '', output_truncated: false }
  const at = script.output.indexOf('\n')
  const end = readEnd(script.output.slice(0, Math.max(0, at)))
  if (end === undefined) return failed(name, 'did not say how it ended', '')
  const text = script.output.slice(at + 1)
  const output = outputOf(text, Math.min(Buffer.byteLength(text), end.stdout_bytes), end.stdout_bytes)
  if ('exit_code' in end && end.exit_code === 0) return { ...output, status: 'success' }
  const { stderr } = end
  if ('fault' in end) return { ...failed(name, end.fault, stderr), ...output }
  const quote = lastLine(stderr)
  const message = `exited with code ${end.exit_code}${quote === '' ? '' : `: ${quote}`}`
  return {
    ...output, status: 'failed',
    error: { message: `${name} ${message}`, details: { exit_code: end.exit_code, stderr } }
  }
}

function failed (name: string, message: string, stderr: string): Outcome {
  return {
    status: 'failed', output: '', output_truncated: false, error: { message: `${name} ${message}`, details: { stderr } }
  }
}

/** Checks the line: what runs in a process of its own could write anything. */
function readEnd (line: string): RunEnd | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { exit_code, fault, stderr, stdout_bytes } = value
  if (typeof stderr !== 'string' || typeof stdout_bytes !== 'number') return undefined
  if (typeof fault === 'string') return { fault: fault.slice(0, 2_000), stderr, stdout_bytes }
  return typeof exit_code === 'number' ? { exit_code, stderr, stdout_bytes } : undefined
}

/** The last line that is not empty, without control characters. */
function lastLine (text: string): string {
  const line = text.split(/[\r\n]+/).findLast(line => line.trim() !== '') ?? ''
  const clean = line.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return clean.length > quoteMax ? `${clean.slice(0, quoteMax)}…` : clean
}
